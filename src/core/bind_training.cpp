// Bindings of trainer.h, and of the small parts of training that Python uses by themselves.
#include <algorithm>
#include <cmath>
#include <memory>

#include "border.h"
#include "trainer.h"

namespace tanager {

namespace {

constexpr Index most_steps = Index{1} << 40;

double number_of(nb::handle object, const char* name) {
    double number = 0.0;
    require(nb::try_cast<double>(object, number), name, " must be a number");
    return number;
}

double strength_of(nb::handle object, const char* name) {
    const double strength = number_of(object, name);
    require(strength >= 0.0 && std::isfinite(strength), name, " must have a finite strength of at least 0");
    return strength;
}

template <class T>
Moments<T> moments_of(nb::handle object, const char* name, Index size) {
    const auto parts = tuple_of(object, name, 3);
    return {view<T>(parts[0], name, size), view<T>(parts[1], name, size), view<T>(parts[2], name, size)};
}

Adam adam_of(nb::handle object) {
    const auto parts = tuple_of(object, "adam", 3);
    const Adam adam{number_of(parts[0], "adam"), number_of(parts[1], "adam"), number_of(parts[2], "adam")};
    require(adam.beta1 >= 0.0 && adam.beta1 < 1.0 && adam.beta2 >= 0.0 && adam.beta2 < 1.0 && adam.epsilon >= 0.0,
            "adam must have beta1 and beta2 from 0 to below 1, and epsilon of at least 0");
    return adam;
}

// Goals [x_i, c] of every feature, one after the other.
void require_goals(View<const float> goals, View<const Index> offset, const Cpts& cpts, Index n_features,
                   Index n_classes, const char* name) {
    require(offset.size == n_features + 1 && offset[n_features] == goals.size,
            std::string(name) + " must have a goal for each feature");
    require_rising(offset, name);
    for (Index i = 0; i < n_features; ++i)
        require(offset[i + 1] - offset[i] == cpts.cards[i] * n_classes,
                std::string(name) + " must have goals of the size of the features' CPTs");
}

Loss loss_of(nb::handle object) {
    const auto parts = tuple_of(object, "loss", 5);
    std::string kind;
    const bool is_known =
        nb::try_cast<std::string>(parts[0], kind) && (kind == "margin" || kind == "conditional" || kind == "callback");
    require(is_known, "loss must be of the kind margin, conditional or callback");
    Loss loss{kind == "margin"        ? Loss::Kind::margin
              : kind == "conditional" ? Loss::Kind::conditional
                                      : Loss::Kind::callback,
              number_of(parts[1], "loss"), number_of(parts[2], "loss"), number_of(parts[3], "loss"),
              number_of(parts[4], "loss")};
    require(loss.eta > 0.0, "eta of the loss must be above 0");
    return loss;
}

// A NumPy array with a copy of numbers, of the shape rows, or rows and columns.
template <class T, std::size_t N>
nb::object new_array(const T* values, Index stride, const std::size_t (&shape)[N]) {
    const std::size_t rows = shape[0], columns = N == 1 ? 1 : shape[N - 1];
    auto* copy = new T[std::max<std::size_t>(rows * columns, 1)];
    for (std::size_t n = 0; n < rows; ++n)
        std::copy_n(values + static_cast<Index>(n) * stride, columns, copy + n * columns);
    nb::capsule owner(copy, [](void* data) noexcept { delete[] static_cast<T*>(data); });
    return nb::ndarray<nb::numpy, T, nb::ndim<N>>(copy, N, shape, owner).cast();
}

template <class T>
nb::object new_vector(View<const T> values) {
    return new_array<T, 1>(values.data, 1, {static_cast<std::size_t>(values.size)});
}

// A NumPy array over the numbers themselves; whoever keeps it keeps their owner.
template <class T>
nb::object array_over(View<T> values, nb::handle owner) {
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(values.data, {static_cast<std::size_t>(values.size)}, owner)
        .cast(nb::rv_policy::reference);
}

// A trainer with the Python arrays that it works on.
class BoundTrainer {
 public:
    BoundTrainer(nb::object theta, nb::object prior, nb::object phi, nb::object last, nb::object updates,
                 nb::object cpts, nb::object pairs, nb::object codes, nb::object y, nb::object weight, Index batch_size,
                 Index n_members, nb::object adam, bool is_dense, nb::object loss, nb::dict actions, int n_threads) {
        kept_ = nb::make_tuple(theta, prior, phi, last, updates, cpts, pairs, codes, y, weight, actions);
        const auto prior_value = view<const float>(tuple_of(prior, "prior", 3)[0], "prior");
        n_classes_ = prior_value.size;
        require(n_classes_ >= 1, "prior must have at least one class");
        cpts_ = cpts_of(cpts, n_classes_);
        const Index n_candidates = cpts_.parent.size, size = cpts_.offset[n_candidates];
        const auto theta_value = view<const float>(tuple_of(theta, "theta", 3)[0], "theta");
        require(theta_value.size >= size + padded(n_classes_, 8), "theta must end in slack");
        for (Index s = 0; s < cpts_.n_slots(); ++s) require(cpts_.ptr[s + 1] > cpts_.ptr[s], "a slot has no candidate");
        const Arena arena{moments_of<float>(theta, "theta", theta_value.size), view<Index>(last, "last", n_candidates),
                          view<Index>(updates, "updates", n_candidates)};
        require_below({arena.last.data, n_candidates}, most_steps, "last");
        require_below({arena.updates.data, n_candidates}, most_steps, "updates");
        for (const Index card : cpts_.cards) require(card < (Index{1} << 31), "cards must fit 32 bits");
        const auto of_pairs = matrix<const Index>(pairs, "pairs", -1, 2);
        n_features_ = cpts_.n_columns() - of_pairs.rows;
        require(n_features_ >= 1 && n_members >= 1 && n_members <= cpts_.n_slots() &&
                    cpts_.n_slots() == n_members * n_features_,
                "cpts must have a slot for each feature of each member");
        for (Index p = 0; p < of_pairs.rows; ++p)
            require(of_pairs(p, 0) >= 0 && of_pairs(p, 0) < n_features_ && of_pairs(p, 1) >= 0 &&
                        of_pairs(p, 1) < n_features_ &&
                        cpts_.cards[of_pairs(p, 0)] * cpts_.cards[of_pairs(p, 1)] == cpts_.cards[n_features_ + p],
                    "pairs must be of features, and cards of the pairs their product");
        Rows rows{codes_of(codes, "codes", n_features_), view<const Index>(y, "y"), {}};
        require(rows.y.size == rows.codes.rows, "y must have a class for each row");
        require_below(rows.y, n_classes_, "y");
        if (!weight.is_none()) rows.weight = view<const float>(weight, "weight", rows.codes.rows);
        n_rows_ = rows.codes.rows;
        size_ = theta_value.size;
        batch_size_ = batch_size;
        require(batch_size >= 1 && batch_size <= n_rows_ && n_rows_ < (Index{1} << 31),
                "batch_size must be from 1 to N");
        RunSettings settings;
        settings.adam = adam_of(adam);
        settings.is_dense = is_dense;
        settings.loss = loss_of(loss);
        read_actions(actions, settings);
        uses_dropout_ = settings.dropout > 0.0;
        calls_loss_ = settings.loss.kind == Loss::Kind::callback;
        const int most = static_cast<int>(std::min<Index>({256, batch_size, cpts_.n_slots()}));
        trainer_ = std::make_unique<Trainer>(arena, moments_of<float>(prior, "prior", n_classes_),
                                             moments_of<double>(phi, "phi", n_candidates), cpts_, of_pairs, rows,
                                             batch_size, n_members, settings, std::clamp(n_threads, 1, most));
    }

    nb::tuple run(Index step, nb::object rows, nb::object gumbel, nb::object uniform, double rate, double tau,
                  double phi_rate, nb::dict callbacks) {
        const auto order = view<const Index>(rows, "rows");
        require(order.size % batch_size_ == 0 && order.size > 0, "rows must be whole batches");
        require_below(order, n_rows_, "rows");
        const Index n_steps = order.size / batch_size_;
        Epoch epoch{step, order,   matrix<const double>(gumbel, "gumbel", n_steps, cpts_.parent.size), {}, rate,
                    tau,  phi_rate};
        require(step >= 0 && step < most_steps, "step must be at least 0");
        require(tau > 0.0, "tau must be above 0");
        require(std::isfinite(rate) && std::isfinite(phi_rate), "rate and phi_rate must be finite");
        if (uses_dropout_) epoch.uniform = matrix<const double>(uniform, "uniform", n_steps, cpts_.n_slots());
        const Callbacks called = wrap(callbacks);
        require(!calls_loss_ || called.loss, "callbacks must have a loss");
        const OnlyCall only(is_running_, "run");
        LossValue value{};
        {
            nb::gil_scoped_release release;
            value = trainer_->run(epoch, called);
        }
        return nb::make_tuple(value.loss, value.error);
    }

    nb::tuple sum(nb::object rows, nb::object selected, nb::object cells, nb::object weight, nb::object prior,
                  nb::dict callbacks) {
        const auto order = view<const Index>(rows, "rows", batch_size_);
        require_below(order, n_rows_, "rows");
        const auto chosen = view<const Index>(selected, "selected", cpts_.n_slots());
        require_selected(chosen, "selected must have a candidate of each slot");
        const Sums sums{view<float>(cells, "cells", size_), view<double>(weight, "weight", cpts_.parent.size),
                        view<float>(prior, "prior", n_classes_)};
        const Callbacks called = wrap(callbacks);
        require(!calls_loss_ || called.loss, "callbacks must have a loss");
        const OnlyCall only(is_running_, "sum");
        LossValue value{};
        {
            nb::gil_scoped_release release;
            value = trainer_->sum(order, chosen, sums, called);
        }
        return nb::make_tuple(value.loss, value.error);
    }

    nb::object selected() { return new_vector<Index>({trainer_->selected().data, trainer_->selected().size}); }

 private:
    void require_selected(View<const Index> selected, const char* message) const {
        for (Index s = 0; s < selected.size; ++s)
            require(selected[s] >= cpts_.ptr[s] && selected[s] < cpts_.ptr[s + 1], message);
    }

    void read_actions(const nb::dict& actions, RunSettings& settings) const {
        for (const auto& [key, value] : actions) {
            std::string name;
            require(nb::try_cast<std::string>(key, name), "actions must have names");
            if (name == "dropout") {
                settings.dropout = strength_of(value, "dropout");
            } else if (name == "shrinkage") {
                const auto parts = tuple_of(value, "shrinkage", 3);
                settings.shrinkage = {view<const float>(parts[0], "goals of shrinkage"),
                                      view<const Index>(parts[1], "offset of shrinkage"),
                                      strength_of(parts[2], "shrinkage")};
                require_goals(settings.shrinkage.goals, settings.shrinkage.offset, cpts_, n_features_, n_classes_,
                              "shrinkage");
            } else if (name == "smoothness") {
                const auto parts = tuple_of(value, "smoothness", 2);
                settings.smoothness = {view<const Index>(parts[0], "n_ordered", cpts_.cards.size),
                                       strength_of(parts[1], "smoothness")};
                for (Index i = 0; i < cpts_.cards.size; ++i)
                    require(settings.smoothness.n_ordered[i] >= 0 && settings.smoothness.n_ordered[i] <= cpts_.cards[i],
                            "n_ordered must be from 0 to the number of values");
            } else if (name == "pull") {
                const auto parts = tuple_of(value, "pull", 3);
                settings.pull = {view<const float>(parts[0], "goals of pull"),
                                 view<const Index>(parts[1], "offset of pull"),
                                 static_cast<float>(strength_of(parts[2], "pull"))};
                require_goals(settings.pull.goals, settings.pull.offset, cpts_, n_features_, n_classes_, "pull");
            } else if (name == "size_cost") {
                settings.size_cost = view<const double>(value, "size_cost", cpts_.parent.size);
            } else if (name == "forest_parents") {
                settings.forest_parents = view<const Index>(value, "forest_parents", cpts_.parent.size);
                require_below(settings.forest_parents, cpts_.n_slots() + 1, "forest_parents");
            } else {
                refuse("there is no action " + name);
            }
        }
    }

    // Python functions as callbacks; each takes the interpreter lock for its own time.
    Callbacks wrap(const nb::dict& functions) const {
        Callbacks called;
        called.check_interrupt = [] {
            nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        };
        const auto find = [&](const char* name) { return functions.contains(name) ? functions[name] : nb::none(); };
        if (nb::object loss = find("loss"); !loss.is_none())
            called.loss = [loss, this](Matrix<const float> log_joint, View<const Index> y, View<const float> weight,
                                       Matrix<float> grad) {
                nb::gil_scoped_acquire acquire;
                nb::object weights = weight.size > 0 ? new_vector(weight) : nb::object(nb::none());
                const std::size_t shape[2] = {static_cast<std::size_t>(log_joint.rows),
                                              static_cast<std::size_t>(n_classes_)};
                const auto result =
                    tuple_of(loss(new_array(log_joint.data, log_joint.columns, shape), new_vector(y), weights),
                             "what the loss returns", 2);
                const auto given = matrix<const float>(result[1], "the gradient of the loss", grad.rows, n_classes_);
                for (Index n = 0; n < grad.rows; ++n) std::copy_n(given.row(n), n_classes_, grad.row(n));
                return number_of(result[0], "the loss");
            };
        if (nb::object sum = find("sums"); !sum.is_none())
            called.sums = [sum, this](Index step, View<const Index> selected, const Sums& sums) {
                nb::gil_scoped_acquire acquire;
                const nb::handle owner = nb::find(*this);
                const auto result = tuple_of(sum(step, new_vector(selected), array_over(sums.cells, owner),
                                                 array_over(sums.weight, owner), array_over(sums.prior, owner)),
                                             "what sums returns", 2);
                return LossValue{number_of(result[0], "the loss"), number_of(result[1], "the error")};
            };
        if (nb::object change = find("change_structure"); !change.is_none())
            called.change_structure = [change, this](Index step, View<Index> selected, View<double> soft) {
                nb::gil_scoped_acquire acquire;
                change(step, array_over(selected, nb::find(*this)), array_over(soft, nb::find(*this)));
                require_selected({selected.data, selected.size},
                                 "a regulariser has selected a candidate of another feature");
            };
        if (nb::object move = find("move_cpts"); !move.is_none())
            called.move_cpts = [move](View<const Index> selected, double rate) {
                nb::gil_scoped_acquire acquire;
                move(new_vector(selected), rate);
            };
        if (nb::object add = find("add_phi_gradient"); !add.is_none())
            called.add_phi_gradient = [add, this](View<double> gradient) {
                nb::gil_scoped_acquire acquire;
                add(array_over(gradient, nb::find(*this)));
            };
        return called;
    }

    nb::object kept_;
    Cpts cpts_;
    Index n_classes_ = 0, n_features_ = 0, n_rows_ = 0, batch_size_ = 0, size_ = 0;
    bool uses_dropout_ = false, calls_loss_ = false, is_running_ = false;
    std::unique_ptr<Trainer> trainer_;
};

}  // namespace

void bind_training(nb::module_& m) {
    nb::class_<BoundTrainer>(m, "Trainer")
        .def(nb::init<nb::object, nb::object, nb::object, nb::object, nb::object, nb::object, nb::object, nb::object,
                      nb::object, nb::object, Index, Index, nb::object, bool, nb::object, nb::dict, int>(),
             nb::kw_only(), nb::arg("theta"), nb::arg("prior"), nb::arg("phi"), nb::arg("last"), nb::arg("updates"),
             nb::arg("cpts"), nb::arg("pairs"), nb::arg("codes"), nb::arg("y"), nb::arg("weight").none(),
             nb::arg("batch_size"), nb::arg("n_members"), nb::arg("adam"), nb::arg("is_dense"), nb::arg("loss"),
             nb::arg("actions"), nb::arg("n_threads"))
        .def("run", &BoundTrainer::run, nb::kw_only(), nb::arg("step"), nb::arg("rows"), nb::arg("gumbel"),
             nb::arg("uniform").none(), nb::arg("rate"), nb::arg("tau"), nb::arg("phi_rate"), nb::arg("callbacks"))
        .def("sum", &BoundTrainer::sum, nb::kw_only(), nb::arg("rows"), nb::arg("selected"), nb::arg("cells"),
             nb::arg("weight"), nb::arg("prior"), nb::arg("callbacks"))
        .def_prop_ro("selected", &BoundTrainer::selected);
    m.def(
        "normalise_cpts",
        [](nb::handle theta, nb::handle cpts, Index n_classes) {
            require(n_classes >= 1 && n_classes < (Index{1} << 31), "n_classes must be at least 1");
            const Cpts places = cpts_of(cpts, n_classes);
            const auto values = view<float>(theta, "theta");
            require(values.size >= places.offset[places.offset.size - 1] + padded(n_classes, 8),
                    "theta must end in slack");
            nb::gil_scoped_release release;
            normalise_cpts(values, places, n_classes);
        },
        nb::arg("theta"), nb::arg("cpts"), nb::arg("n_classes"));
    m.def(
        "parent_probabilities",
        [](nb::handle phi, nb::handle ptr, nb::handle probabilities) {
            const auto logits = view<const double>(phi, "phi");
            const auto segments = view<const Index>(ptr, "ptr");
            require_rising(segments, "ptr");
            require(segments[segments.size - 1] == logits.size, "ptr must end at the number of candidates");
            parent_probabilities(logits, segments, view<double>(probabilities, "probabilities", logits.size));
        },
        nb::arg("phi"), nb::arg("ptr"), nb::arg("probabilities"));
    m.def(
        "best_forest",
        [](nb::handle scores, nb::handle ptr, nb::handle parent, nb::handle selected) {
            const auto values = view<const double>(scores, "scores");
            const auto segments = view<const Index>(ptr, "ptr");
            require_rising(segments, "ptr");
            const Index n_features = segments.size - 1;
            require(segments[n_features] == values.size, "ptr must end at the number of candidates");
            const auto sources = view<const Index>(parent, "parent", values.size);
            require_below(sources, n_features + 1, "parent");
            ForestScratch scratch(n_features);
            return best_forest(values, segments, sources, view<Index>(selected, "selected", n_features), scratch);
        },
        nb::arg("scores"), nb::arg("ptr"), nb::arg("parent"), nb::arg("selected"));
    m.def(
        "grow_tree",
        [](nb::handle weights, Index root, nb::handle parents) {
            const auto edges = matrix<const double>(weights, "weights");
            require(edges.rows == edges.columns, "weights must be square");
            require(0 <= root && root < edges.rows, "root must be one of the features");
            const auto out = view<Index>(parents, "parents", edges.rows);
            nb::gil_scoped_release release;
            grow_tree(edges, root, out);
        },
        nb::arg("weights"), nb::arg("root"), nb::arg("parents"));
    m.def(
        "evaluate_loss",
        [](nb::handle loss, nb::handle log_joint, nb::handle y, nb::handle weight, nb::handle grad) {
            const auto values = matrix<const float>(log_joint, "log_joint");
            RowGradients rows(matrix<float>(grad, "grad", values.rows, values.columns));
            const auto labels = view<const Index>(y, "y", values.rows);
            require_below(labels, values.columns, "y");
            const auto weights = view<const float>(weight, "weight", values.rows);
            const Loss kind = loss_of(loss);
            require(kind.kind != Loss::Kind::callback, "loss must be margin or conditional");
            evaluate_rows(0, values.rows, kind, values, values.columns, labels, weights, mean_scale(weights), rows);
            return sum_up(rows).loss;
        },
        nb::arg("loss"), nb::arg("log_joint"), nb::arg("y"), nb::arg("weight"), nb::arg("grad"));
}

}  // namespace tanager
