#include "losses.h"

#include <cmath>
#include <limits>

#include "lanes.h"

namespace tanager {

namespace {

// A share of the softened maximum below this is taken as zero: far below rounding, and safe from denormal numbers.
constexpr float least_share = 1e-19f;
constexpr Index few_classes = 4;  // a line of them is read as quickly as one of its numbers
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

bool is_wrong(const float* line, Index n_classes, Index y) {
    Index best = 0;
    for (Index c = 1; c < n_classes; ++c)
        if (line[c] > line[best]) best = c;
    return best != y;
}

void margin_loss(const Loss& loss, const float* line, Index n_classes, Index n, Index y, double w, RowGradients& rows) {
    float* grad = rows.grad.row(n);
    const auto own = static_cast<double>(line[y]);
    const double rival = loss.lam > 0.0 ? softmax_into(line, n_classes, loss.eta, y, grad) / loss.eta : -infinity;
    const double shortfall = loss.gamma - own + rival;
    rows.loss[n] = -w * loss.nll * own;
    if (loss.lam > 0.0 && shortfall > 0.0) {
        rows.loss[n] += w * loss.lam * shortfall;
        const auto factor = static_cast<float>(w * loss.lam);
        for (Index c = 0; c < n_classes; ++c) grad[c] *= factor;
        grad[y] = -static_cast<float>(w * (loss.nll + loss.lam));
        rows.kind[n] = RowGradients::Kind::full;
    } else {
        for (Index c = 0; c < n_classes; ++c) grad[c] = 0.0f;
        grad[y] = -static_cast<float>(w * loss.nll);
        rows.kind[n] = loss.nll == 0.0            ? RowGradients::Kind::none
                       : n_classes <= few_classes ? RowGradients::Kind::full
                                                  : RowGradients::Kind::single;
    }
}

void conditional_loss(const float* line, Index n_classes, Index n, Index y, double w, RowGradients& rows) {
    float* grad = rows.grad.row(n);
    rows.loss[n] = w * (softmax_into(line, n_classes, 1.0, -1, grad) - static_cast<double>(line[y]));
    rows.kind[n] = RowGradients::Kind::full;
    // The others' sum is 1 - p(y | x) without the cancellation where that is small.
    grad[y] = 0.0f;
    float others = 0.0f;
    const auto factor = static_cast<float>(w);
    for (Index c = 0; c < n_classes; ++c) {
        grad[c] *= factor;
        others += grad[c];
    }
    grad[y] -= others;
}

}  // namespace

RowGradients::RowGradients(Matrix<float> grad)
    : grad(grad),
      kind(static_cast<std::size_t>(grad.rows), Kind::none),
      loss(static_cast<std::size_t>(grad.rows)),
      error(static_cast<std::size_t>(grad.rows)) {
    full.reserve(static_cast<std::size_t>(grad.rows));
    single.reserve(static_cast<std::size_t>(grad.rows));
}

double mean_scale(View<const float> weight) {
    double sum = 0.0;
    for (const float w : weight) sum += static_cast<double>(w);
    return 1.0 / sum;
}

double error_share(Matrix<const float> log_joint, Index n_classes, View<const Index> y, View<const float> weight) {
    double errors = 0.0;
    for (Index n = 0; n < y.size; ++n)
        if (is_wrong(log_joint.row(n), n_classes, y[n])) errors += static_cast<double>(weight[n]);
    return errors * mean_scale(weight);
}

void evaluate_rows(Index lo, Index hi, const Loss& loss, Matrix<const float> log_joint, Index n_classes,
                   View<const Index> y, View<const float> weight, double scale, RowGradients& rows) {
    for (Index n = lo; n < hi; ++n) {
        const double w = static_cast<double>(weight[n]) * scale;
        const float* line = log_joint.row(n);
        if (loss.kind == Loss::Kind::margin)
            margin_loss(loss, line, n_classes, n, y[n], w, rows);
        else
            conditional_loss(line, n_classes, n, y[n], w, rows);
        rows.error[n] = is_wrong(line, n_classes, y[n]) ? w : 0.0;
    }
}

LossValue sum_up(RowGradients& rows) {
    rows.full.clear();
    rows.single.clear();
    LossValue sums{0.0, 0.0};
    for (Index n = 0; n < rows.grad.rows; ++n) {
        sums.loss += rows.loss[n];
        sums.error += rows.error[n];
        if (rows.kind[n] == RowGradients::Kind::full) rows.full.push_back(static_cast<std::int32_t>(n));
        if (rows.kind[n] == RowGradients::Kind::single) rows.single.push_back(static_cast<std::int32_t>(n));
    }
    return sums;
}

}  // namespace tanager
