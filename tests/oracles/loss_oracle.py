"""Losses of the log-joint and their gradients, written as loops (paper, section 2.3).

Every function returns the weighted batch mean sum_n w_n * l_n / sum_n w_n and its gradient with respect to
`log_joint` [N, C]. `y` is an integer array [N]; `weight` is [N] or None for ones.
"""

import math

import numpy as np


def log_sum_exp(values):
    """Log of the sum of exponentials; minus infinity for no values."""
    if len(values) == 0:
        return -math.inf
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def weighted_mean(row_loss, log_joint, y, weight):
    """Average `row_loss(values, label) -> (loss, gradient)` over the rows."""
    n_rows, n_classes = log_joint.shape
    weight = np.ones(n_rows) if weight is None else weight
    total = sum(float(w) for w in weight)
    value, gradient = 0.0, np.zeros((n_rows, n_classes))
    for n in range(n_rows):
        row_value, row_gradient = row_loss([float(v) for v in log_joint[n]], int(y[n]))
        value += weight[n] * row_value / total
        for c in range(n_classes):
            gradient[n, c] = weight[n] * row_gradient[c] / total
    return value, gradient


def nll(log_joint, y, weight=None):
    """Negative log-likelihood, -L_y (equation 5)."""

    def row_loss(values, label):
        return -values[label], [-1.0 if c == label else 0.0 for c in range(len(values))]

    return weighted_mean(row_loss, log_joint, y, weight)


def conditional(log_joint, y, weight=None):
    """Negative conditional log-likelihood, logsumexp_c L_c - L_y."""

    def row_loss(values, label):
        log_total = log_sum_exp(values)
        gradient = [math.exp(value - log_total) for value in values]
        gradient[label] -= 1.0
        return log_total - values[label], gradient

    return weighted_mean(row_loss, log_joint, y, weight)


def margin(log_joint, y, weight=None, gamma=1.0, eta=10.0):
    """Large margin loss (equations 6 and 7), relu(gamma - L_y + (1 / eta) * logsumexp_{c != y} eta * L_c).

    A row that just meets the margin has a zero gradient, and so has every row if there is one class only.
    """

    def row_loss(values, label):
        gradient = [0.0] * len(values)
        log_total = log_sum_exp([eta * value for c, value in enumerate(values) if c != label])
        shortfall = gamma - values[label] + log_total / eta
        if shortfall <= 0:
            return 0.0, gradient
        for c, value in enumerate(values):
            gradient[c] = -1.0 if c == label else math.exp(eta * value - log_total)
        return shortfall, gradient

    return weighted_mean(row_loss, log_joint, y, weight)


def hybrid(log_joint, y, weight=None, lam=1.0, gamma=1.0, eta=10.0):
    """Hybrid loss (equation 8), nll + lam * margin."""
    nll_value, nll_gradient = nll(log_joint, y, weight)
    margin_value, margin_gradient = margin(log_joint, y, weight, gamma, eta)
    return nll_value + lam * margin_value, nll_gradient + lam * margin_gradient
