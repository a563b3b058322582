// The minimum of a smooth convex function of many variables: L-BFGS from a first guess of its curvature.
//
//   d = -H g,   x <- x + t d,   t = 1, or less until f falls by enough (Armijo)
//
// H is the inverse of the second derivative as the last few steps s and changes of the gradient y tell it, on top of a
// guess that the caller can solve equations with (Nocedal and Wright, Numerical Optimization, algorithm 7.4). The guess
// is made anew now and then, where x has come by then: on the data sets of docs/comparison.md that halves the steps.
// Every sum runs in one fixed order, so that results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "sums.h"

namespace tanager {

// Steps and changes of the gradient that are remembered, newest last.
//
// They are kept in single precision, which halves what has to be read and is more than their use as a guess needs.
// Equations are linear: what solves them for a change of the gradient is the difference of what solves them for the
// gradients, so that they are solved once a step.
template <class Guess>
class InverseCurvature {
 public:
    InverseCurvature(View<const double> gradient, const Guess& guess, Index most)
        : size_(gradient.size),
          guess_(guess),
          most_(most),
          steps_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(most * size_))),
          changes_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(most * size_))),
          solved_changes_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(most * size_))),
          products_(static_cast<std::size_t>(most)),
          solved_(gradient.begin(), gradient.end()),
          next_solved_(static_cast<std::size_t>(size_)) {
        guess_.solve(solved_.data());
    }

    // Take up the step from one point to the next and the change of the gradient.
    void learn(const double* from, const double* to, const double* gradient_from, const double* gradient_to) {
        const Index size = size_, place = n_learned_ % most_;
        float* __restrict step = steps_.get() + place * size, * __restrict change = changes_.get() + place * size;
        float* __restrict solved_change = solved_changes_.get() + place * size;
        std::copy_n(gradient_to, size, next_solved_.begin());
        guess_.solve(next_solved_.data());
        for (Index k = 0; k < size; ++k) {
            step[k] = static_cast<float>(to[k] - from[k]);
            change[k] = static_cast<float>(gradient_to[k] - gradient_from[k]);
            solved_change[k] = static_cast<float>(next_solved_[k] - solved_[k]);
        }
        solved_.swap(next_solved_);
        const double product = sum(size, [&](Index k) { return static_cast<double>(step[k]) * change[k]; });
        const double square = sum(size, [&](Index k) { return static_cast<double>(change[k]) * solved_change[k]; });
        if (!(product > 0.0 && square > 0.0)) return;  // rounding: the function is convex
        scale_ = product / square;
        products_[place] = product;
        ++n_learned_;
    }

    // Solve again for all that is remembered, after the guess has changed.
    void renew(const double* gradient) {
        std::copy_n(gradient, size_, solved_.begin());
        guess_.solve(solved_.data());
        for (Index p = std::max(n_learned_ - most_, Index{0}); p < n_learned_; ++p) {
            const float* change = changes_.get() + p % most_ * size_;
            float* solved_change = solved_changes_.get() + p % most_ * size_;
            std::copy_n(change, size_, next_solved_.begin());
            guess_.solve(next_solved_.data());
            for (Index k = 0; k < size_; ++k) solved_change[k] = static_cast<float>(next_solved_[k]);
            const double square =
                sum(size_, [&](Index k) { return static_cast<double>(change[k]) * solved_change[k]; });
            scale_ = products_[p % most_] / square;  // the last one stays
        }
    }

    // d = -H g
    void direct(const double* gradient, double* direction) const {
        const Index size = size_, n_kept = std::min(n_learned_, most_);
        std::vector<double> shares(static_cast<std::size_t>(n_kept));
        const auto place = [&](Index p) { return (n_learned_ - 1 - p) % most_; };  // of the newest and those before
        const auto step = [&](Index p) { return steps_.get() + place(p) * size; };
        const auto change = [&](Index p) { return changes_.get() + place(p) * size; };
        for (Index k = 0; k < size; ++k) direction[k] = -gradient[k];
        double product = n_kept > 0 ? moved(direction, 0.0, step(0), step(0)) : 0.0;
        for (Index p = 0; p < n_kept; ++p) {
            shares[p] = product / products_[place(p)];
            if (p + 1 < n_kept) product = moved(direction, -shares[p], change(p), step(p + 1));
        }
        for (Index k = 0; k < size; ++k) direction[k] = -scale_ * solved_[k];
        for (Index p = 0; p < n_kept; ++p)
            product = moved(direction, -scale_ * shares[p], solved_changes_.get() + place(p) * size, change(p));
        for (Index p = n_kept - 1; p >= 0; --p) {
            const double share = shares[p] - product / products_[place(p)];
            product = moved(direction, share, step(p), change(std::max(p - 1, Index{0})));
        }
    }

 private:
    // Add a share of one vector to the direction, and return its product with another. Both in one pass: vectors may be
    // longer than the caches, and reading them is then what takes the time.
    double moved(double* __restrict direction, double share, const float* by, const float* other) const {
        return sum(size_, [&](Index k) {
            direction[k] += share * by[k];
            return direction[k] * other[k];
        });
    }

    Index size_;
    const Guess& guess_;
    Index most_, n_learned_ = 0;
    double scale_ = 1.0;
    std::unique_ptr<float[]> steps_, changes_, solved_changes_;  // [most, size], in turn
    std::vector<double> products_;
    std::vector<double> solved_, next_solved_;  // what solves the equations for the gradient
};

// When a search ends: with a step that lowers the value by no more than a share of it, or of the least that counts.
struct Tolerance {
    double share, least;
};

struct Minimum {
    double value;
    Index n_steps;
    bool is_reached;  // the last step lowered the value by less than the tolerance
};

// Minimise from x on. loss(x, gradient) returns the value and fills the gradient; guess.take(x) looks at the second
// derivative at x, and guess.solve(v) solves equations with about that matrix in place; check() is called before each
// step and may throw.
template <class Loss, class Guess, class Check>
Minimum minimise(View<double> x, Guess& guess, Loss&& loss, Index most_steps, Tolerance end, Check&& check) {
    constexpr Index memory = 6;
    constexpr Index first_renewal = 4, times_later = 3;  // the guess is renewed after 4, 12, 36, ... steps
    constexpr int most_trials = 20;
    constexpr double enough = 1e-4;
    const auto size = static_cast<std::size_t>(x.size);
    std::vector<double> gradient(size), direction(size), next(size), next_gradient(size);
    double value = loss(View<const double>{x.data, x.size}, View<double>{gradient.data(), x.size});
    guess.take(View<const double>{x.data, x.size});
    InverseCurvature inverse(View<const double>{gradient.data(), x.size}, guess, memory);
    Index next_renewal = first_renewal;
    for (Index n = 0; n < most_steps; ++n) {
        check();
        inverse.direct(gradient.data(), direction.data());
        const double slope = sum(x.size, [&](Index k) { return gradient[k] * direction[k]; });
        if (!(slope < 0.0)) return {value, n, true};
        double length = 1.0, found = 0.0;
        int trial = 0;
        for (; trial < most_trials; ++trial) {
            for (std::size_t k = 0; k < size; ++k) next[k] = x.data[k] + length * direction[k];
            found = loss(View<const double>{next.data(), x.size}, View<double>{next_gradient.data(), x.size});
            if (found <= value + enough * length * slope) break;
            const double best = -slope * length / (2.0 * ((found - value) / length - slope));  // of the parabola
            length = std::isfinite(best) ? std::clamp(best, 0.1 * length, 0.5 * length) : 0.1 * length;
        }
        if (trial == most_trials) return {value, n, true};  // rounding leaves nothing to gain
        const bool is_reached = value - found <= end.share * std::max(std::abs(found), end.least);
        if (!is_reached) inverse.learn(x.data, next.data(), gradient.data(), next_gradient.data());
        std::copy(next.begin(), next.end(), x.data);
        gradient.swap(next_gradient);
        value = found;
        if (is_reached) return {value, n + 1, true};
        if (n + 1 == next_renewal) {
            guess.take(View<const double>{x.data, x.size});
            inverse.renew(gradient.data());
            next_renewal *= times_later;
        }
    }
    return {value, most_steps, false};
}

}  // namespace tanager
