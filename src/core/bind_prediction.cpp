// Bindings of prediction.h, short_sums.h and wide_codes.h.
#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "border.h"
#include "crew.h"
#include "lanes.h"
#include "prediction.h"
#include "short_sums.h"
#include "wide_codes.h"

namespace tanager {

namespace {

// Pairs of features, whose numbers of values are those of the columns that follow the features.
Matrix<const Index> pairs_of(nb::handle object, View<const Index> cards) {
    const auto pairs = matrix<const Index>(object, "pairs", -1, 2);
    const Index n_features = cards.size - 1 - pairs.rows;
    for (Index p = 0; p < pairs.rows; ++p) {
        const Index a = pairs(p, 0), b = pairs(p, 1);
        require(0 <= a && a < n_features && 0 <= b && b < n_features, "pairs must be of features");
        require(cpt_size(cards[a], cards[b], 1) == cards[n_features + p], "cards do not fit the pairs");
    }
    return pairs;
}

// Room for the shortened lines of a network. They start where lines of the cache do, and are not read in two parts.
class ShortLines {
 public:
    explicit ShortLines(const Network& network)
        : n_lines_(network.n_lines),
          width_(short_width(network.n_classes)),
          data_(new (alignment) std::uint16_t[static_cast<std::size_t>(n_lines_ * width_)]) {}

    Matrix<std::uint16_t> steps() const { return {data_.get(), n_lines_, width_}; }

 private:
    static constexpr std::align_val_t alignment{64};
    struct Free {
        void operator()(std::uint16_t* data) const { operator delete[](data, alignment); }
    };
    Index n_lines_, width_;
    std::unique_ptr<std::uint16_t[], Free> data_;
};

// A network that is checked once, so that single rows are quick.
//
// It has copies of all that says where rows read; of theta, which is large, it keeps the array.
class Predictor {
 public:
    Predictor(nb::handle theta, nb::handle prior, nb::handle cpts, nb::handle pairs) : theta_(nb::borrow(theta)) {
        const auto numpy = nb::module_::import_("numpy");
        empty_ = numpy.attr("empty");
        double_ = numpy.attr("dtype")("float64");
        index_ = numpy.attr("dtype")("int64");
        const auto log_prior = view<const double>(prior, "prior");
        const Index n_classes = log_prior.size;
        require(n_classes >= 1, "prior must have at least one class");
        const Cpts places = cpts_of(cpts, n_classes);
        const auto of_pairs = pairs_of(pairs, places.cards);
        const Index n_features = places.n_columns() - of_pairs.rows, size = places.offset[places.parent.size];
        require(places.n_slots() >= 1, "cpts must have at least one slot");
        require(places.cards[places.no_parent()] == 1, "cards must end in the one value of no parent");
        constexpr Index most = std::numeric_limits<Place>::max();
        require(size <= most && n_features <= most, "cpts have more entries than 32 bits can number");
        const auto values = view<const float>(theta, "theta");
        require(values.size >= size + padded(n_classes, 8), "theta must have at least ", size + padded(n_classes, 8),
                " entries, not ", values.size);
        prior_.assign(static_cast<std::size_t>(padded(n_classes, lanes_for(n_classes))), 0.0);
        std::copy(log_prior.begin(), log_prior.end(), prior_.begin());
        for (Index i = 0; i < n_features; ++i)
            highest_.push_back(static_cast<std::uint32_t>(std::min(places.cards[i] - 1, most)));
        for (Index s = 0; s < places.n_slots(); ++s) {
            require(places.ptr[s + 1] == s + 1, "cpts must have one candidate for each slot");
            require(places.child[s] < n_features, "child holds ", places.child[s], ", which is not a feature");
            slots_.push_back(slot_of(places, of_pairs, s, n_classes));
        }
        network_ = {values,
                    {prior_.data(), static_cast<Index>(prior_.size())},
                    {slots_.data(), static_cast<Index>(slots_.size())},
                    {highest_.data(), static_cast<Index>(highest_.size())},
                    n_classes,
                    size / n_classes};
    }

    // The log-joint [N, C], and the numbers of the rows that are left because a value is unknown, or None.
    nb::tuple log_joint(nb::handle codes, Index n_threads) const {
        const Codes x = codes_of(codes, "codes", network_.highest.size);
        nb::object array = empty_(nb::make_tuple(x.rows, network_.n_classes), double_);
        const Matrix<double> out{data_of<double>(array), x.rows, network_.n_classes};
        std::vector<RowState> states(static_cast<std::size_t>(x.rows));
        const View<RowState> marked{states.data(), x.rows};
        share_rows(x.rows, n_threads, [&](Index lo, Index hi) {
            mark_rows(lo, hi, network_, x, marked);
            network_log_joint(lo, hi, network_, x, marked, out);
        });
        return nb::make_tuple(array, incomplete_rows(marked));
    }

    // The most probable class of each row [N], and the numbers of the rows that are left, whose class is -1, or None.
    nb::tuple classes(nb::handle codes, Index n_threads) const {
        const Codes x = codes_of(codes, "codes", network_.highest.size);
        const auto [array, out] = no_classes(x.rows);
        std::vector<RowState> states(static_cast<std::size_t>(x.rows));
        const View<RowState> marked{states.data(), x.rows};
        std::optional<ShortLines> lines;
        if (pays_to_shorten(network_, x.rows)) shorten(lines.emplace(network_), n_threads);
        share_rows(x.rows, n_threads, [&, out = out](Index lo, Index hi) {
            mark_rows(lo, hi, network_, x, marked);
            if (lines) settle_classes(lo, hi, network_, lines->steps(), x, marked, out);
            best_classes(lo, hi, network_, x, marked, out);
        });
        return nb::make_tuple(array, incomplete_rows(marked));
    }

    // Classes [N] as far as short sums tell them, -1 elsewhere: a part of the above, for tests.
    nb::object settled_classes(nb::handle codes, Index n_threads) const {
        const Codes x = codes_of(codes, "codes", network_.highest.size);
        require(can_shorten(network_), "the network is too large for short sums");
        const auto [array, out] = no_classes(x.rows);
        std::vector<RowState> states(static_cast<std::size_t>(x.rows));
        const View<RowState> marked{states.data(), x.rows};
        const ShortLines lines(network_);
        shorten(lines, n_threads);
        share_rows(x.rows, n_threads, [&, out = out](Index lo, Index hi) {
            mark_rows(lo, hi, network_, x, marked);
            settle_classes(lo, hi, network_, lines.steps(), x, marked, out);
        });
        return array;
    }

 private:
    static Slot slot_of(const Cpts& cpts, Matrix<const Index> pairs, Index s, Index n_classes) {
        const Index n_features = cpts.n_columns() - pairs.rows, parent = cpts.parent[s];
        const auto child = static_cast<std::uint32_t>(cpts.child[s]);
        const auto card = static_cast<Line>(cpts.cards[child]);
        Slot slot{static_cast<Line>(cpts.offset[s] / n_classes), child, child, child, 0, 0};
        if (parent < n_features) {
            slot.first = static_cast<std::uint32_t>(parent);
            slot.by_first = card;
        } else if (parent < cpts.n_columns()) {
            slot.first = static_cast<std::uint32_t>(pairs(parent - n_features, 0));
            slot.second = static_cast<std::uint32_t>(pairs(parent - n_features, 1));
            slot.by_first = card * static_cast<Line>(cpts.cards[slot.second]);
            slot.by_second = card;
        }
        return slot;
    }

    void shorten(const ShortLines& lines, Index n_threads) const {
        const auto steps = lines.steps();
        share(steps.rows, steps.rows * steps.columns, n_threads,
              [&](Index lo, Index hi) { shorten_lines(lo, hi, network_.theta.data, network_.n_classes, steps); });
    }

    // Call work for ranges of rows, which stay in the cache while several things are done with them.
    template <class Work>
    void share_rows(Index n_rows, Index n_threads, Work&& work) const {
        constexpr Index n_together = 512;
        const Index cost = n_rows * network_.slots.size * (1 + network_.n_classes / 8);
        share(n_rows, cost, n_threads, [&](Index lo, Index hi) {
            for (Index start = lo; start < hi; start += n_together) work(start, std::min(start + n_together, hi));
        });
    }

    // Call work for one range of items for each thread, of which there are no more than the cost, in nanoseconds, is
    // worth; single rows are not even worth letting go of the interpreter.
    template <class Work>
    static void share(Index n_items, Index cost, Index n_threads, Work&& work) {
        constexpr Index worth_a_release = Index{1} << 12, worth_a_thread = Index{1} << 16;
        require(n_threads >= 1, "n_threads must be at least 1");
        if (cost < worth_a_release) return work(0, n_items);
        nb::gil_scoped_release release;
        Crew crew(static_cast<int>(std::clamp<Index>(cost / worth_a_thread, 1, std::min<Index>(n_threads, 256))));
        const auto edge = [&](Index member) { return n_items * member / crew.size(); };
        crew.run([&](int member) { work(edge(member), edge(member + 1)); });
    }

    // New arrays are made by NumPy, and their address asked for: half the time that it takes to wrap memory.
    template <class T>
    static T* data_of(const nb::object& array) {
        Py_buffer buffer;
        if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_WRITABLE) != 0) throw nb::python_error();
        auto* data = static_cast<T*>(buffer.buf);
        PyBuffer_Release(&buffer);
        return data;
    }

    std::pair<nb::object, View<Index>> no_classes(Index n_rows) const {
        nb::object array = empty_(n_rows, index_);
        const View<Index> out{data_of<Index>(array), n_rows};
        std::fill(out.begin(), out.end(), -1);
        return {array, out};
    }

    nb::object incomplete_rows(View<RowState> states) const {
        const auto n_found = std::count(states.begin(), states.end(), RowState::incomplete);
        if (n_found == 0) return nb::none();
        nb::object array = empty_(n_found, index_);
        Index* out = data_of<Index>(array);
        for (Index n = 0; n < states.size; ++n)
            if (states[n] == RowState::incomplete) *out++ = n;
        return array;
    }

    nb::object theta_, empty_, double_, index_;
    std::vector<double> prior_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> highest_;
    Network network_;
};

}  // namespace

void bind_prediction(nb::module_& m) {
    nb::class_<Predictor>(m, "Predictor")
        .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle>(), nb::arg("theta"), nb::arg("prior"),
             nb::arg("cpts"), nb::arg("pairs"))
        .def("log_joint", &Predictor::log_joint, nb::arg("codes"), nb::arg("n_threads") = 1)
        .def("classes", &Predictor::classes, nb::arg("codes"), nb::arg("n_threads") = 1)
        .def("settled_classes", &Predictor::settled_classes, nb::arg("codes"), nb::arg("n_threads") = 1);
    m.attr("STEPS_PER_UNIT") = steps_per_unit;
    m.attr("ALL_POINTS") = all_points;
    m.def(
        "shorten_lines",
        [](nb::handle theta, nb::handle steps, Index n_classes) {
            const auto out = matrix<std::uint16_t>(steps, "steps");
            require(1 <= n_classes && n_classes <= out.columns && out.columns == short_width(n_classes),
                    "steps must have room for n_classes in whole lanes");
            const auto values = view<const float>(theta, "theta");
            require(values.size / n_classes >= out.rows && values.size - out.rows * n_classes >= padded(n_classes, 8),
                    "theta must have as many lines as steps, and end in slack");
            nb::gil_scoped_release release;
            shorten_lines(0, out.rows, values.data, n_classes, out);
        },
        nb::arg("theta"), nb::arg("steps"), nb::arg("n_classes"));
    m.def(
        "widen_codes",
        [](Index lo, Index hi, nb::handle codes, nb::handle pairs, nb::handle cards, nb::handle wide) {
            const auto sizes = view<const Index>(cards, "cards");
            require(sizes.size >= 1, "cards must end in the one value of no parent");
            for (const Index card : sizes) require(card >= 1, "cards must be at least 1");
            const auto of_pairs = pairs_of(pairs, sizes);
            const Codes x = codes_of(codes, "codes", sizes.size - 1 - of_pairs.rows);
            const Codes out = codes_of(wide, "wide", sizes.size - 1);
            WritableArray array;
            require(nb::try_cast<WritableArray>(wide, array, false), "wide must be an array that can be written to");
            require(out.rows == x.rows, "wide must have ", x.rows, " rows, not ", out.rows);
            const auto most = static_cast<std::uint64_t>(*std::max_element(sizes.begin(), sizes.end()));
            require(most <= out.largest(), "wide must have numbers up to ", most);
            require_range(lo, hi, x.rows);
            nb::gil_scoped_release release;
            widen_codes(lo, hi, x, of_pairs, sizes, {array.data(), out.width});
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("codes"), nb::arg("pairs"), nb::arg("cards"), nb::arg("wide"));
    m.def(
        "group_codes",
        [](Index lo, Index hi, nb::handle codes, nb::handle of_value, nb::handle start, nb::handle cards,
           nb::handle wide) {
            const auto sizes = view<const Index>(cards, "cards");
            const Groups groups{view<const Index>(of_value, "of_value"), view<const Index>(start, "start"), sizes};
            require_rising(groups.start, "start");
            require(groups.start.size == sizes.size + 1 && groups.start[sizes.size] == groups.of_value.size,
                    "start does not fit cards and of_value");
            Index most = 1;
            for (Index i = 0; i < sizes.size; ++i) {
                require(sizes[i] >= 1, "cards must be at least 1");
                require_below(groups.of_value.slice(groups.start[i], groups.start[i + 1]), sizes[i], "of_value");
                most = std::max({most, sizes[i], groups.start[i + 1] - groups.start[i]});
            }
            const Codes x = codes_of(codes, "codes", sizes.size);
            const Codes out = codes_of(wide, "wide", 2 * sizes.size);
            WritableArray array;
            require(nb::try_cast<WritableArray>(wide, array, false), "wide must be an array that can be written to");
            require(out.rows == x.rows, "wide must have ", x.rows, " rows, not ", out.rows);
            require(static_cast<std::uint64_t>(most) <= out.largest(), "wide must have numbers up to ", most);
            require_range(lo, hi, x.rows);
            nb::gil_scoped_release release;
            group_codes(lo, hi, x, groups, {array.data(), out.width});
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("codes"), nb::arg("of_value"), nb::arg("start"), nb::arg("cards"),
        nb::arg("wide"));
}

}  // namespace tanager
