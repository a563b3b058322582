// Bindings of discretising.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "border.h"
#include "discretising.h"

namespace tanager {

namespace {

// Classes and weights are copied, so that they stay as they were checked here.
ClassedRows classed_rows_of(nb::handle y, nb::handle weight, Index n_classes, double unit) {
    const auto labels = view<const std::int32_t>(y, "y");
    require(labels.size <= std::numeric_limits<std::int32_t>::max(), "y must have less than 2^31 rows");
    require(n_classes >= 0 && n_classes <= std::numeric_limits<std::int32_t>::max(), "n_classes must fit 31 bits");
    for (const Index label : labels)
        require(label >= 0 && label < n_classes, "y holds ", label, ", which is outside 0 to ", n_classes - 1);
    View<const Index> weights;
    Index largest = labels.size;
    if (!weight.is_none()) {
        weights = view<const Index>(weight, "weight", labels.size);
        constexpr Index most = Index{1} << (Logs::bits + 1);
        largest = 0;
        for (const Index w : weights) {
            require(w >= 0 && w <= most - largest, "weight must not be negative, and not above ", most, " in all");
            largest += w;
        }
    }
    const double n_rows = static_cast<double>(largest) * unit;
    require(unit > 0.0 && std::isfinite(unit) && std::isfinite(n_rows * std::log2(std::max(n_rows, 2.0))),
            "unit must be above 0, and the weight of all rows finite");
    nb::gil_scoped_release release;
    return {{labels.begin(), labels.end()}, {weights.begin(), weights.end()}, n_classes, Logs(largest, unit)};
}

nb::object new_array(std::vector<double>&& values) {
    auto* kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<std::vector<double>*>(data); });
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(kept->data(), {kept->size()}, owner).cast();
}

}  // namespace

void bind_discretising(nb::module_& m) {
    nb::class_<ClassedRows>(m, "ClassedRows")
        .def(nb::new_(&classed_rows_of), nb::arg("y"), nb::arg("weight").none(), nb::arg("n_classes"),
             nb::arg("unit") = 1.0);
    m.def(
        "find_gaps",
        [](const ClassedRows& rows, nb::handle values, bool best_passing, Index max_bins) {
            const auto numbers = view<const double>(values, "values", static_cast<Index>(rows.y.size()));
            for (Index n = 0; n < numbers.size; ++n)
                require(!std::isinf(numbers[n]) || (!rows.weight.empty() && rows.weight[n] == 0),
                        "values must be finite or NaN, but some are infinite (inf)");
            require(max_bins >= 1, "max_bins must be at least 1");
            Gaps gaps;
            {
                nb::gil_scoped_release release;
                gaps = find_gaps(rows, numbers, best_passing, max_bins);
            }
            return nb::make_tuple(new_array(std::move(gaps.below)), new_array(std::move(gaps.above)));
        },
        nb::arg("rows"), nb::arg("values"), nb::arg("best_passing"), nb::arg("max_bins"));
}

}  // namespace tanager
