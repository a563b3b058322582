"""The model, its gradients and one Adam step, written as loops (paper, section 3).

Candidate e of a feature is described by `child[e]` and `parent[e]` (-1: no parent) and owns `tables[e]`, an
unnormalised float array [R_parent or 1, R_child, C]. The candidates of feature i are ptr[i], ..., ptr[i + 1] - 1, and
`selected[i]` is one of these numbers. `prior` is unnormalised, [C]. `codes` is an integer array [N, D].
"""

import math

import numpy as np


def log_softmax_vector(values):
    """Subtract the log of the sum of exponentials from a vector."""
    top = max(values)
    log_total = top + math.log(sum(math.exp(value - top) for value in values))
    return np.array([value - log_total for value in values], dtype=np.float64)


def log_softmax_table(table):
    """Normalise a CPT over axis 1, the value of the child."""
    log_table = np.empty(table.shape, dtype=np.float64)
    n_parent_values, _, n_classes = table.shape
    for a in range(n_parent_values):
        for c in range(n_classes):
            log_table[a, :, c] = log_softmax_vector(table[a, :, c])
    return log_table


def cell(e, child, parent, row):
    """Position (parent value, child value) of one row of codes in the CPT of candidate e."""
    parent_value = 0 if parent[e] == -1 else row[parent[e]]
    return int(parent_value), int(row[child[e]])


def log_joint(tables, prior, child, parent, selected, codes):
    """Log of p(x_n, c) under the selected structure, [N, C] (equation 9 with a one-hot s)."""
    n_rows, n_classes = len(codes), len(prior)
    log_prior = log_softmax_vector(prior)
    log_tables = {e: log_softmax_table(tables[e]) for e in selected}
    result = np.zeros((n_rows, n_classes))
    for n in range(n_rows):
        for c in range(n_classes):
            result[n, c] = log_prior[c]
            for e in selected:
                a, b = cell(e, child, parent, codes[n])
                result[n, c] += log_tables[e][a, b, c]
    return result


def gradients(tables, prior, child, parent, selected, soft, tau, codes, grad_log_joint, ptr):
    """Chain the gradient of a loss with respect to the log-joint through the model.

    Only the selected tables are in the log-joint, so all others have a zero gradient. The weight s_e of every
    candidate has the gradient sum_n,c grad[n, c] * log p_e(x_i | x_j, c), which the straight-through step passes
    unchanged to `soft`, the soft-max of (phi + noise) / tau within each feature.

    Returns
    -------
    list of arrays (one per candidate), array [C], array [E]
        Gradients of the tables, of the prior and of phi.
    """
    n_rows, n_classes = grad_log_joint.shape
    grad_tables = [np.zeros(table.shape) for table in tables]
    for e in selected:
        for n in range(n_rows):
            a, b = cell(e, child, parent, codes[n])
            for c in range(n_classes):
                # d log_softmax(t)[b] / d t[k] = [k == b] - softmax(t)[k]
                probability = np.exp(log_softmax_vector(tables[e][a, :, c]))
                for k in range(tables[e].shape[1]):
                    grad_tables[e][a, k, c] += grad_log_joint[n, c] * ((k == b) - probability[k])

    grad_prior = np.zeros(n_classes)
    prior_probability = np.exp(log_softmax_vector(prior))
    for n in range(n_rows):
        for c in range(n_classes):
            for k in range(n_classes):
                grad_prior[k] += grad_log_joint[n, c] * ((k == c) - prior_probability[k])

    grad_weight = np.zeros(len(tables))
    for e in range(len(tables)):
        log_table = log_softmax_table(tables[e])
        for n in range(n_rows):
            a, b = cell(e, child, parent, codes[n])
            for c in range(n_classes):
                grad_weight[e] += grad_log_joint[n, c] * log_table[a, b, c]
    return grad_tables, grad_prior, soft_max_gradient(grad_weight, soft, tau, ptr)


def soft_max_gradient(grad_soft, soft, tau, ptr):
    """Chain a gradient with respect to soft = softmax(phi / tau) in each segment back to phi."""
    grad_phi = np.zeros(len(soft))
    for i in range(len(ptr) - 1):
        for e in range(ptr[i], ptr[i + 1]):
            for f in range(ptr[i], ptr[i + 1]):
                # d soft_f / d phi_e = soft_f * ([e == f] - soft_e) / tau
                grad_phi[e] += grad_soft[f] * soft[f] * ((e == f) - soft[e]) / tau
    return grad_phi


def gumbel(u):
    """Gumbel noise from uniform numbers, with the guards against log(0) of the published experiments."""
    return -np.log(-np.log(np.asarray(u, dtype=np.float64) + 1e-6) + 1e-6)


def sample(phi, noise, ptr, tau):
    """Select one candidate of each feature (equations 11 and 13).

    Returns
    -------
    int array [D], float array [E]
        Number of the selected candidate, the first of equals; the soft weights of all candidates.
    """
    n_features = len(ptr) - 1
    selected = np.zeros(n_features, dtype=np.int64)
    soft = np.zeros(len(phi))
    for i in range(n_features):
        scores = [float(phi[e]) + float(noise[e]) for e in range(ptr[i], ptr[i + 1])]
        best = 0
        for k in range(1, len(scores)):
            if scores[k] > scores[best]:
                best = k
        selected[i] = ptr[i] + best
        soft[ptr[i] : ptr[i + 1]] = np.exp(log_softmax_vector([score / tau for score in scores]))
    return selected, soft


def adam_step(value, gradient, m, v, t, lr, beta1=0.9, beta2=0.999, eps=1e-7):
    """One step of Adam, number t = 1, 2, ..., with epsilon outside the bias correction.

    Returns
    -------
    value, m, v : arrays
    """
    value, m, v = (np.array(array, dtype=np.float64) for array in (value, m, v))
    rate = lr * math.sqrt(1 - beta2**t) / (1 - beta1**t)
    for k in np.ndindex(value.shape):
        m[k] = beta1 * m[k] + (1 - beta1) * gradient[k]
        v[k] = beta2 * v[k] + (1 - beta2) * gradient[k] ** 2
        value[k] = value[k] - rate * m[k] / (math.sqrt(v[k]) + eps)
    return value, m, v
