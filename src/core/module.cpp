// The compiled module: one for each level of instructions, named by the build.
#include "border.h"

namespace tanager {

void bind_counting(nb::module_& m);
void bind_discretising(nb::module_& m);
void bind_effects(nb::module_& m);
void bind_moves(nb::module_& m);
void bind_prediction(nb::module_& m);
void bind_training(nb::module_& m);
void bind_probe(nb::module_& m);
void bind_queries(nb::module_& m);
void bind_settling(nb::module_& m);

}  // namespace tanager

#define TANAGER_MODULE(name) NB_MODULE(name, m)

TANAGER_MODULE(TANAGER_CORE) {
    m.doc() = "Hot loops of tanager: arrays in, arrays out.";
    nanobind::set_leak_warnings(false);  // a classifier that lives until Python ends is not a leak
    tanager::bind_counting(m);
    tanager::bind_discretising(m);
    tanager::bind_effects(m);
    tanager::bind_moves(m);
    tanager::bind_prediction(m);
    tanager::bind_training(m);
    tanager::bind_probe(m);
    tanager::bind_queries(m);
    tanager::bind_settling(m);
}
