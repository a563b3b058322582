// Bindings of effects.h.
#include <algorithm>
#include <limits>

#include "border.h"
#include "effects.h"
#include "quasi_newton.h"

namespace tanager {

namespace {

constexpr Index most_entries = std::numeric_limits<std::int32_t>::max() / 8;

// Nats a row of which a share ends the search where the loss is less: where classes are easy to tell apart, a share of
// the little that is left would be less than held-out rows can show.
constexpr double least_loss = 0.3;

// Columns [K, N], with every code below its card.
Codes columns_of(nb::handle columns, View<const Index> cards) {
    const Codes x = codes_of(columns, "columns");
    require(x.rows == cards.size, "columns must have ", cards.size, " rows, one for each card, not ", x.rows);
    for (Index k = 0; k < cards.size; ++k) {
        require(cards[k] >= 1 && cards[k] <= std::numeric_limits<std::uint16_t>::max(), "cards must be 1 to 65535");
        with_codes(x, [&](const auto* codes) {
            const auto* first = codes + k * x.columns;
            const bool is_below = std::all_of(first, first + x.columns, [&](auto code) {
                const std::uint64_t value = code;
                return value <= x.largest() && value < static_cast<std::uint64_t>(cards[k]);
            });
            require(is_below, "column ", k, " holds codes that are not below its card, ", cards[k]);
        });
    }
    return x;
}

std::vector<EffectTable> tables_of(nb::handle object, View<const Index> cards, Index width) {
    const auto pairs = matrix<const Index>(object, "tables", -1, 2);
    std::vector<EffectTable> tables;
    Index n_cells = 1;
    for (Index t = 0; t < pairs.rows; ++t) {
        const Index column = pairs(t, 0), other = pairs(t, 1);
        require(0 <= column && column < cards.size && -1 <= other && other < cards.size, "table ", t,
                " is not of columns");
        tables.push_back({column, other, cards[column], other < 0 ? 1 : cards[other], 0});
        n_cells += tables.back().n_cells();
        require(n_cells <= most_entries / width, "tables have more entries than 32 bits can number");
    }
    return tables;
}

std::vector<std::vector<double>> edges_of(nb::handle object, View<const Index> cards) {
    const auto flat = view<const double>(object, "edges");
    std::vector<std::vector<double>> edges;
    Index first = 0;
    for (const Index card : cards) {
        require(first + card - 1 <= flat.size, "edges must have one entry less than values for each column");
        edges.emplace_back(flat.data + first, flat.data + first + card - 1);
        first += card - 1;
    }
    require(first == flat.size, "edges must have one entry less than values for each column");
    for (const double weight : flat) require(weight >= 0.0 && std::isfinite(weight), "edges must not be negative");
    return edges;
}

class BoundEffects {
 public:
    BoundEffects(nb::handle columns, nb::handle y, nb::handle weight, Index n_classes, nb::handle cards,
                 nb::handle edges, nb::handle tables, double copies, int n_threads)
        : effects_(make(columns, y, weight, n_classes, cards, edges, tables, copies, n_threads)) {}

    double loss(nb::handle theta, nb::handle penalties, nb::handle gradient) {
        const auto entries = theta_of(theta);
        const auto strengths = penalties_of(penalties);
        const auto out = view<double>(gradient, "gradient", effects_->n_entries());
        const OnlyCall only(is_running_, "an object");
        nb::gil_scoped_release release;
        return effects_->loss(entries, {strengths.data(), static_cast<Index>(strengths.size())}, out);
    }

    void probabilities(nb::handle theta, nb::handle out) {
        const auto entries = theta_of(theta);
        const auto rows = matrix<double>(out, "out", effects_->n_rows(), effects_->n_classes());
        const OnlyCall only(is_running_, "an object");
        nb::gil_scoped_release release;
        effects_->probabilities(entries, rows);
    }

    void curvature(nb::handle theta, nb::handle penalties, nb::handle out) {
        const auto entries = theta_of(theta);
        const auto strengths = penalties_of(penalties);
        const auto diagonal = view<double>(out, "out", effects_->n_entries());
        const OnlyCall only(is_running_, "an object");
        nb::gil_scoped_release release;
        effects_->curvature(entries, diagonal);
        effects_->add_penalty_curvature({strengths.data(), static_cast<Index>(strengths.size())}, diagonal);
    }

    void freedom(nb::handle theta, nb::handle penalties, nb::handle degrees, nb::handle pulls) {
        const auto entries = theta_of(theta);
        const auto strengths = penalties_of(penalties);
        const auto of_tables = view<double>(degrees, "degrees", effects_->n_tables());
        const auto forms = view<double>(pulls, "pulls", effects_->n_tables());
        const OnlyCall only(is_running_, "an object");
        nb::gil_scoped_release release;
        effects_->freedom(entries, {strengths.data(), static_cast<Index>(strengths.size())}, of_tables, forms);
    }

    nb::tuple minimise(nb::handle theta, nb::handle penalties, Index most_steps, double tolerance) {
        const auto entries = view<double>(theta, "theta", effects_->n_entries());
        const auto strengths = penalties_of(penalties);
        require(most_steps >= 0, "most_steps must not be negative");
        require(tolerance >= 0.0, "tolerance must not be negative");
        const View<const Penalty> held{strengths.data(), static_cast<Index>(strengths.size())};
        const OnlyCall only(is_running_, "an object");
        Minimum found;
        {
            nb::gil_scoped_release release;
            CurvatureGuess guess(*effects_, held);
            found = tanager::minimise(
                entries, guess,
                [&](View<const double> at, View<double> gradient) { return effects_->loss(at, held, gradient); },
                most_steps, {tolerance, least_loss * effects_->weight()},
                [] {
                    nb::gil_scoped_acquire acquire;
                    if (PyErr_CheckSignals() != 0) throw nb::python_error();
                });
        }
        return nb::make_tuple(found.value, found.n_steps, found.is_reached);
    }

    Index n_entries() const { return effects_->n_entries(); }

 private:
    static std::unique_ptr<Effects> make(nb::handle columns, nb::handle y, nb::handle weight, Index n_classes,
                                         nb::handle cards, nb::handle edges, nb::handle tables, double copies,
                                         int n_threads) {
        require(n_classes >= 1 && n_classes <= most_entries, "n_classes must be at least 1");
        require(copies >= 1.0 && std::isfinite(copies), "copies must be at least 1");
        require(copies == 1.0 || n_classes > 2, "copies above 1 require more than two classes");
        require(n_threads >= 1 && n_threads <= 1024, "n_threads must be 1 to 1024");
        const auto sizes = view<const Index>(cards, "cards");
        const Codes x = columns_of(columns, sizes);
        const auto labels = view<const Index>(y, "y", x.columns);
        require_below(labels, n_classes, "y");
        const auto weights = view<const double>(weight, "weight", x.columns);
        for (const double each : weights) require(each >= 0.0 && std::isfinite(each), "weight must not be negative");
        return std::make_unique<Effects>(x, labels, weights, n_classes, sizes, edges_of(edges, sizes),
                                         tables_of(tables, sizes, n_classes), copies, n_threads);
    }

    View<const double> theta_of(nb::handle theta) const {
        return view<const double>(theta, "theta", effects_->n_entries());
    }

    std::vector<Penalty> penalties_of(nb::handle object) const {
        const auto rows = matrix<const double>(object, "penalties", effects_->n_tables(), 5);
        std::vector<Penalty> penalties;
        for (Index k = 0; k < rows.rows * rows.columns; ++k)
            require(rows.data[k] >= 0.0 && std::isfinite(rows.data[k]), "penalties must not be negative");
        for (Index t = 0; t < rows.rows; ++t)
            penalties.push_back({rows(t, 0), rows(t, 1), rows(t, 2), rows(t, 3), rows(t, 4)});
        return penalties;
    }

    std::unique_ptr<Effects> effects_;
    bool is_running_ = false;
};

}  // namespace

void bind_effects(nb::module_& m) {
    nb::class_<BoundEffects>(m, "Effects")
        .def(nb::init<nb::handle, nb::handle, nb::handle, Index, nb::handle, nb::handle, nb::handle, double, int>(),
             nb::arg("columns"), nb::arg("y"), nb::arg("weight"), nb::arg("n_classes"), nb::arg("cards"),
             nb::arg("edges"), nb::arg("tables"), nb::arg("copies"), nb::arg("n_threads"))
        .def_prop_ro("n_entries", &BoundEffects::n_entries)
        .def("loss", &BoundEffects::loss, nb::arg("theta"), nb::arg("penalties"), nb::arg("gradient"))
        .def("minimise", &BoundEffects::minimise, nb::arg("theta"), nb::arg("penalties"), nb::arg("most_steps"),
             nb::arg("tolerance"))
        .def("probabilities", &BoundEffects::probabilities, nb::arg("theta"), nb::arg("out"))
        .def("curvature", &BoundEffects::curvature, nb::arg("theta"), nb::arg("penalties"), nb::arg("out"))
        .def("freedom", &BoundEffects::freedom, nb::arg("theta"), nb::arg("penalties"), nb::arg("degrees"),
             nb::arg("pulls"));
    m.def(
        "pair_gains",
        [](Index lo, Index hi, nb::handle columns, nb::handle cards, nb::handle residual, nb::handle curvature,
           double ridge, nb::handle gains) {
            const auto sizes = view<const Index>(cards, "cards");
            require(sizes.size >= 1, "cards must not be empty");
            const Codes x = columns_of(columns, sizes);
            const auto residuals = matrix<const float>(residual, "residual", x.columns);
            const auto curvatures = matrix<const float>(curvature, "curvature", x.columns, residuals.columns);
            const auto out = matrix<double>(gains, "gains", x.rows, x.rows);
            require(ridge > 0.0, "ridge must be above 0");
            const Index largest = *std::max_element(sizes.begin(), sizes.end());
            const Index n_entries = cpt_size(largest, largest, residuals.columns);
            require(0 <= n_entries && n_entries <= most_entries, "tables have more entries than 32 bits can number");
            require_range(lo, hi, x.rows);
            nb::gil_scoped_release release;
            pair_gains(lo, hi, x, sizes, residuals, curvatures, ridge, out);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("columns"), nb::arg("cards"), nb::arg("residual"), nb::arg("curvature"),
        nb::arg("ridge"), nb::arg("gains"));
}

}  // namespace tanager
