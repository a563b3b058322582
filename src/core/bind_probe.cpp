// What the machine can do at best: independent multiply-adds in single precision, which benchmarks compare steps with.
#include "border.h"

namespace tanager {

namespace {

constexpr int chain = 32;  // multiply-adds of an entry in one pass

void multiply_add(View<float> values, Index n_passes) {
    float* __restrict x = values.data;
    for (Index pass = 0; pass < n_passes; ++pass)
        for (Index k = 0; k < values.size; ++k) {
            float value = x[k];
            for (int link = 0; link < chain; ++link) value = value * 0.999f + 0.001f;
            x[k] = value;
        }
}

}  // namespace

void bind_probe(nb::module_& m) {
    m.attr("MULTIPLY_ADD_CHAIN") = chain;
    m.def(
        "multiply_add",
        [](nb::handle values, Index n_passes) {
            const auto numbers = view<float>(values, "values");
            require(n_passes >= 0 && n_passes <= (Index{1} << 40), "n_passes must be from 0 to 2^40");
            nb::gil_scoped_release release;
            multiply_add(numbers, n_passes);
        },
        nb::arg("values"), nb::arg("n_passes"));
}

}  // namespace tanager
