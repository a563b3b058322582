// Losses of a batch and their gradients with respect to the log-joint, row by row (equations 5 to 8 of the paper).
//
// With L the log-joint of a row and y its class:
//   margin family:  nll * (-L[y]) + lam * max(0, gamma - L[y] + logsumexp(eta * L[c] for c != y) / eta)
//   conditional:    logsumexp(L) - L[y]
// All are weighted means over the rows: sum(w * loss) / sum(w).
//
// Where the margin is met, the gradient of a row is that of its own class alone; such rows are listed apart, since they
// need one load where others need a line.
#pragma once

#include <vector>

#include "views.h"

namespace tanager {

struct Loss {
    enum class Kind { margin, conditional, callback };
    Kind kind = Kind::callback;
    double nll = 0.0, lam = 0.0, gamma = 1.0, eta = 1.0;
};

// Rows of a batch with their loss gradient grad [B, P], P being classes padded to whole lanes with zeros.
struct RowGradients {
    enum class Kind : char { none, single, full };  // no gradient, one at the own class alone, a line
    Matrix<float> grad;
    std::vector<Kind> kind;            // [B]
    std::vector<double> loss;          // [B]: what each row adds to the mean loss
    std::vector<double> error;         // [B]: what each row adds to the mean error
    std::vector<std::int32_t> full;    // rows whose gradient is a line
    std::vector<std::int32_t> single;  // rows whose gradient is at their own class alone

    explicit RowGradients(Matrix<float> grad);
};

struct LossValue {
    double loss;
    double error;  // weighted share of rows whose most probable class, the first of equal ones, is not their own
};

// One over the sum of the weights.
double mean_scale(View<const float> weight);

// Fill gradient, kind, loss and error of rows lo to hi; log_joint [B, P] has n_classes meaningful columns.
void evaluate_rows(Index lo, Index hi, const Loss& loss, Matrix<const float> log_joint, Index n_classes,
                   View<const Index> y, View<const float> weight, double scale, RowGradients& rows);

// List the rows of each kind, and return the sums of their losses and errors.
LossValue sum_up(RowGradients& rows);

// Weighted share of rows whose most probable class, the first of equal ones, is not y.
double error_share(Matrix<const float> log_joint, Index n_classes, View<const Index> y, View<const float> weight);

}  // namespace tanager
