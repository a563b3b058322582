// Parameters with Adam's running means of their gradient and of its square (Kingma and Ba, 2015).
#pragma once

#include <cmath>

#include "lanes.h"
#include "views.h"

namespace tanager {

template <class T>
struct Moments {
    View<T> value;
    View<T> mean;
    View<T> square;
};

// Constants of Adam; epsilon is added outside the bias correction, as published.
struct Adam {
    double beta1;
    double beta2;
    double epsilon;

    // Learning rate with the bias corrections after so many steps.
    double corrected(double rate, Index steps) const {
        const auto t = static_cast<double>(steps);
        return rate * std::sqrt(1.0 - std::pow(beta2, t)) / (1.0 - std::pow(beta1, t));
    }

    // Steps without a gradient after which momentum no longer moves a single-precision parameter.
    Index rest_after() const {
        return beta1 > 0.0 ? static_cast<Index>(std::ceil(std::log(7.1e-10) / std::log(beta1))) : 1;
    }
};

// The factor that corrects the bias, where it is needed for many numbers of steps: beta^t is exp(t log(beta)), for
// which std::pow takes several times as long.
struct BiasCorrection {
    double log1, log2;

    explicit BiasCorrection(const Adam& adam) : log1(std::log(adam.beta1)), log2(std::log(adam.beta2)) {}

    double after(Index steps) const {
        const auto t = static_cast<double>(steps);
        return std::sqrt(1.0 - exp_or_zero(t * log2)) / (1.0 - exp_or_zero(t * log1));
    }
};

// Adam's constants in single precision, for loops over CPTs.
struct FloatAdam {
    float beta1, beta2, keep1, keep2, epsilon;

    explicit FloatAdam(const Adam& adam)
        : beta1(static_cast<float>(adam.beta1)),
          beta2(static_cast<float>(adam.beta2)),
          keep1(static_cast<float>(1.0 - adam.beta1)),
          keep2(static_cast<float>(1.0 - adam.beta2)),
          epsilon(static_cast<float>(adam.epsilon)) {}
};

// Below these sizes a moment moves nothing (epsilon is 1e-7 and is added to the root of the second one); set to zero,
// it cannot decay into the denormal numbers, which are slow.
constexpr float least_mean = 1e-20f;
constexpr float least_square = 1e-30f;
constexpr float least_probability = 1e-19f;

inline float flushed(float value, float least) { return std::fabs(value) > least ? value : 0.0f; }

}  // namespace tanager
