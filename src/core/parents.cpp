#include "parents.h"

#include <cmath>
#include <limits>

#include "lanes.h"

namespace tanager {

void sample_parents(View<const double> phi, View<const double> noise, View<const Index> ptr, double tau,
                    View<Index> selected, View<double> soft) {
    for (Index s = 0; s + 1 < ptr.size; ++s) {
        Index best = ptr[s];
        for (Index e = ptr[s]; e < ptr[s + 1]; ++e) {
            soft[e] = phi[e] + noise[e];
            if (soft[e] > soft[best]) best = e;
        }
        selected[s] = best;
        const double highest = soft[best];
        for (Index e = ptr[s]; e < ptr[s + 1]; ++e) soft[e] -= highest;
    }
    // One loop over all slots, which are too short for loops that vectorise.
    for (double& each : soft) each = exp_or_zero(each / tau);
    for (Index s = 0; s + 1 < ptr.size; ++s) {
        double sum = 0.0;
        for (Index e = ptr[s]; e < ptr[s + 1]; ++e) sum += soft[e];
        for (Index e = ptr[s]; e < ptr[s + 1]; ++e) soft[e] /= sum;
    }
}

void drop_parents(View<const double> uniform, double probability, const Cpts& cpts, View<Index> selected,
                  View<double> soft) {
    for (Index s = 0; s < selected.size; ++s) {
        if (uniform[s] >= probability) continue;
        for (Index e = cpts.ptr[s]; e < cpts.ptr[s + 1]; ++e) {
            if (cpts.parent[e] != cpts.no_parent()) continue;
            selected[s] = e;
            for (Index other = cpts.ptr[s]; other < cpts.ptr[s + 1]; ++other) soft[other] = 0.0;
        }
    }
}

void phi_gradient(View<const double> weight_gradient, View<const double> soft, View<const Index> ptr, double tau,
                  View<double> gradient) {
    for (Index s = 0; s + 1 < ptr.size; ++s) {
        double mean = 0.0;
        for (Index e = ptr[s]; e < ptr[s + 1]; ++e) mean += soft[e] * weight_gradient[e];
        for (Index e = ptr[s]; e < ptr[s + 1]; ++e) gradient[e] = soft[e] * (weight_gradient[e] - mean) / tau;
    }
}

void parent_probabilities(View<const double> phi, View<const Index> ptr, View<double> probabilities) {
    for (Index s = 0; s + 1 < ptr.size; ++s) {
        double highest = -std::numeric_limits<double>::infinity();
        for (Index e = ptr[s]; e < ptr[s + 1]; ++e) highest = phi[e] > highest ? phi[e] : highest;
        double sum = 0.0;
        for (Index e = ptr[s]; e < ptr[s + 1]; ++e) {
            probabilities[e] = std::exp(phi[e] - highest);
            sum += probabilities[e];
        }
        for (Index e = ptr[s]; e < ptr[s + 1]; ++e) probabilities[e] /= sum;
    }
}

void descend_phi(const Moments<double>& phi, View<const double> gradient, Index step, double rate, const Adam& adam) {
    const double corrected = adam.corrected(rate, step);
    for (Index e = 0; e < gradient.size; ++e) {
        phi.mean[e] = adam.beta1 * phi.mean[e] + (1.0 - adam.beta1) * gradient[e];
        phi.square[e] = adam.beta2 * phi.square[e] + (1.0 - adam.beta2) * gradient[e] * gradient[e];
        phi.value[e] -= corrected * phi.mean[e] / (std::sqrt(phi.square[e]) + adam.epsilon);
    }
}

}  // namespace tanager
