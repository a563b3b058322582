// Bindings of counting.h and backoff.h.
#include <cmath>

#include "backoff.h"
#include "border.h"
#include "counting.h"

namespace tanager {

namespace {

// Counts of CPTs, none of which is negative.
View<const double> counts_of(nb::handle counts, const Cpts& places) {
    const auto cells = view<const double>(counts, "counts", places.offset[places.offset.size - 1]);
    for (const double each : cells) require(each >= 0.0 && std::isfinite(each), "counts must not be negative");
    return cells;
}

}  // namespace

void bind_counting(nb::module_& m) {
    m.def(
        "count_cpts",
        [](Index lo, Index hi, nb::handle codes, nb::handle y, nb::handle weight, nb::handle cpts, nb::handle counts,
           Index n_classes) {
            require(n_classes >= 1, "n_classes must be at least 1");
            const Cpts places = cpts_of(cpts, n_classes);
            const Codes x = codes_of(codes, "codes", places.n_columns());
            const auto labels = view<const Index>(y, "y", x.rows);
            const auto weights = view<const double>(weight, "weight", x.rows);
            const auto out = view<double>(counts, "counts", places.offset[places.offset.size - 1]);
            require_range(lo, hi, places.n_slots());
            require_below(labels, n_classes, "y");
            nb::gil_scoped_release release;
            count_cpts(lo, hi, x, labels, weights, places, n_classes, out);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("codes"), nb::arg("y"), nb::arg("weight"), nb::arg("cpts"),
        nb::arg("counts"), nb::arg("n_classes"));
    m.def(
        "pair_information",
        [](Index lo, Index hi, nb::handle columns, nb::handle y, nb::handle weight, nb::handle cards,
           nb::handle information, Index n_classes) {
            const Codes x = codes_of(columns, "columns");
            const auto labels = view<const Index>(y, "y", x.columns);
            const auto weights = view<const double>(weight, "weight", x.columns);
            const auto sizes = view<const Index>(cards, "cards", x.rows);
            const auto out = matrix<double>(information, "information", x.rows, x.rows);
            require(n_classes >= 1, "n_classes must be at least 1");
            require(sizes.size >= 1, "cards must not be empty");
            require_range(lo, hi, x.rows);
            require_below(labels, n_classes, "y");
            for (const Index card : sizes)
                require(card >= 1 && cpt_size(card, card, n_classes) >= 0,
                        "cards must be from 1 to what memory can hold");
            nb::gil_scoped_release release;
            pair_information(lo, hi, x, labels, weights, sizes, n_classes, out);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("columns"), nb::arg("y"), nb::arg("weight"), nb::arg("cards"),
        nb::arg("information"), nb::arg("n_classes"));
    m.def(
        "information_of_counts",
        [](Index lo, Index hi, nb::handle cpts, nb::handle counts, double total, nb::handle information,
           Index n_classes) {
            require(n_classes >= 1, "n_classes must be at least 1");
            const Cpts places = cpts_of(cpts, n_classes);
            const auto cells = view<const double>(counts, "counts", places.offset[places.offset.size - 1]);
            const auto out = matrix<double>(information, "information", places.n_slots(), places.n_slots());
            require(places.n_columns() == places.n_slots(), "cpts must have a slot for each feature, and no pairs");
            require(total > 0.0 && std::isfinite(total), "total must be finite and above 0");
            require_range(lo, hi, places.n_slots());
            nb::gil_scoped_release release;
            information_of_counts(lo, hi, places, cells, total, n_classes, out);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("cpts"), nb::arg("counts"), nb::arg("total"), nb::arg("information"),
        nb::arg("n_classes"));
    m.def(
        "best_prior_rows",
        [](Index lo, Index hi, nb::handle cpts, nb::handle counts, Index n_classes, nb::handle offered,
           nb::handle prior_rows) {
            require(n_classes >= 1, "n_classes must be at least 1");
            const Cpts places = cpts_of(cpts, n_classes);
            const auto cells = counts_of(counts, places);
            const auto rows = view<const double>(offered, "offered");
            require(rows.size >= 1, "offered must not be empty");
            for (const double each : rows) require(each > 0.0 && std::isfinite(each), "offered must be above 0");
            const auto out = matrix<double>(prior_rows, "prior_rows", places.parent.size, 2);
            require_range(lo, hi, places.n_slots());
            nb::gil_scoped_release release;
            best_prior_rows(lo, hi, places, cells, n_classes, rows, out);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("cpts"), nb::arg("counts"), nb::arg("n_classes"), nb::arg("offered"),
        nb::arg("prior_rows"));
    m.def(
        "back_off",
        [](Index lo, Index hi, nb::handle cpts, nb::handle counts, Index n_classes, nb::handle prior_rows,
           nb::handle values, nb::handle left_out, nb::handle gains) {
            require(n_classes >= 1, "n_classes must be at least 1");
            const Cpts places = cpts_of(cpts, n_classes);
            const auto cells = counts_of(counts, places);
            const auto rows = matrix<const double>(prior_rows, "prior_rows", places.parent.size, 2);
            for (Index k = 0; k < rows.rows * rows.columns; ++k)
                require(rows.data[k] >= 0.0 && std::isfinite(rows.data[k]), "prior_rows must not be negative");
            const auto of_cells = view<double>(values, "values", cells.size);
            const auto without = view<double>(left_out, "left_out", cells.size);
            const auto of_cpts = view<double>(gains, "gains", places.parent.size);
            require_range(lo, hi, places.n_slots());
            nb::gil_scoped_release release;
            back_off(lo, hi, places, cells, n_classes, rows, of_cells, without, of_cpts);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("cpts"), nb::arg("counts"), nb::arg("n_classes"), nb::arg("prior_rows"),
        nb::arg("values"), nb::arg("left_out"), nb::arg("gains"));
}

}  // namespace tanager
