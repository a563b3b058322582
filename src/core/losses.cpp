#include "losses.h"

#include <cmath>
#include <limits>

#include "lanes.h"

namespace tanager {

namespace {

// A share of the softened maximum below this is taken as zero: far below rounding, and safe from denormal numbers.
constexpr float least_share = 1e-19f;
constexpr Index few_classes = 4;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Fill out with softmax(scale * logits) and return logsumexp(scale * logits); class left_out does not take part (-1:
// all do). With no class left, the result is zero shares and minus infinity.
double softmax_into(const float* logits, Index n_classes, double scale, Index left_out, float* out) {
    float highest = -std::numeric_limits<float>::infinity();
    for (Index c = 0; c < n_classes; ++c)
        if (c != left_out && logits[c] > highest) highest = logits[c];
    if (highest == -std::numeric_limits<float>::infinity()) {
        for (Index c = 0; c < n_classes; ++c) out[c] = 0.0f;
        return -infinity;
    }
    const auto factor = static_cast<float>(scale);
    for (Index c = 0; c < n_classes; ++c) out[c] = exp_of(factor * (logits[c] - highest));
    if (left_out >= 0) out[left_out] = 0.0f;
    double sum = 0.0;
    for (Index c = 0; c < n_classes; ++c) sum += static_cast<double>(out[c]);
    const auto inverse = static_cast<float>(1.0 / sum);
    for (Index c = 0; c < n_classes; ++c) {
        const float share = out[c] * inverse;
        out[c] = share > least_share ? share : 0.0f;
    }
    return scale * static_cast<double>(highest) + std::log(sum);
}

double total_weight(View<const float> weight) {
    double sum = 0.0;
    for (const float w : weight) sum += static_cast<double>(w);
    return sum;
}

double margin_loss(const Loss& loss, Matrix<const float> log_joint, Index n_classes, View<const Index> y,
                   View<const float> weight, double scale, RowGradients& rows) {
    double value = 0.0;
    // A line of few classes is read as quickly as one of its numbers.
    auto& met = n_classes <= few_classes ? rows.full : rows.single;
    for (Index n = 0; n < y.size; ++n) {
        const double w = static_cast<double>(weight[n]) * scale;
        const float* line = log_joint.row(n);
        float* grad = rows.grad.row(n);
        const auto own = static_cast<double>(line[y[n]]);
        const double rival =
            loss.lam > 0.0 ? softmax_into(line, n_classes, loss.eta, y[n], grad) / loss.eta : -infinity;
        const double shortfall = loss.gamma - own + rival;
        value -= w * loss.nll * own;
        if (loss.lam > 0.0 && shortfall > 0.0) {
            value += w * loss.lam * shortfall;
            const auto factor = static_cast<float>(w * loss.lam);
            for (Index c = 0; c < n_classes; ++c) grad[c] *= factor;
            grad[y[n]] = -static_cast<float>(w * (loss.nll + loss.lam));
            rows.full.push_back(static_cast<std::int32_t>(n));
        } else {
            for (Index c = 0; c < n_classes; ++c) grad[c] = 0.0f;
            grad[y[n]] = -static_cast<float>(w * loss.nll);
            if (loss.nll != 0.0) met.push_back(static_cast<std::int32_t>(n));
        }
    }
    return value;
}

double conditional_loss(Matrix<const float> log_joint, Index n_classes, View<const Index> y, View<const float> weight,
                        double scale, RowGradients& rows) {
    double value = 0.0;
    for (Index n = 0; n < y.size; ++n) {
        const double w = static_cast<double>(weight[n]) * scale;
        float* grad = rows.grad.row(n);
        const float* line = log_joint.row(n);
        value += w * (softmax_into(line, n_classes, 1.0, -1, grad) - static_cast<double>(line[y[n]]));
        // The others' sum is 1 - p(y | x) without the cancellation where that is small.
        grad[y[n]] = 0.0f;
        float others = 0.0f;
        const auto factor = static_cast<float>(w);
        for (Index c = 0; c < n_classes; ++c) {
            grad[c] *= factor;
            others += grad[c];
        }
        grad[y[n]] -= others;
        rows.full.push_back(static_cast<std::int32_t>(n));
    }
    return value;
}

}  // namespace

double error_share(Matrix<const float> log_joint, Index n_classes, View<const Index> y, View<const float> weight) {
    double errors = 0.0, sum = 0.0;
    for (Index n = 0; n < y.size; ++n) {
        const float* line = log_joint.row(n);
        Index best = 0;
        for (Index c = 1; c < n_classes; ++c)
            if (line[c] > line[best]) best = c;
        if (best != y[n]) errors += static_cast<double>(weight[n]);
        sum += static_cast<double>(weight[n]);
    }
    return errors / sum;
}

LossValue evaluate_loss(const Loss& loss, Matrix<const float> log_joint, Index n_classes, View<const Index> y,
                        View<const float> weight, RowGradients& rows) {
    const double scale = 1.0 / total_weight(weight);
    rows.full.clear();
    rows.single.clear();
    const double value = loss.kind == Loss::Kind::margin
                             ? margin_loss(loss, log_joint, n_classes, y, weight, scale, rows)
                             : conditional_loss(log_joint, n_classes, y, weight, scale, rows);
    return {value, error_share(log_joint, n_classes, y, weight)};
}

}  // namespace tanager
