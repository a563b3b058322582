// Bindings of counting.h.
#include <cmath>

#include "border.h"
#include "counting.h"

namespace tanager {

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
}

}  // namespace tanager
