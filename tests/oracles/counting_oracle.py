"""Counts, maximum likelihood CPTs, Chow-Liu trees and sums over missing values, written as loops (section 2.2).

`codes` is an integer array [N, D], `y` an integer array [N], `cards[i]` the number of values of feature i and `weight`
[N] or None for ones.
"""

import itertools
import math

import numpy as np

from .loss_oracle import log_sum_exp
from .model_oracle import log_joint


def class_counts(y, n_classes, weight=None):
    """Total weight of each class, [C]."""
    counts = np.zeros(n_classes)
    for n, label in enumerate(y):
        counts[label] += 1.0 if weight is None else weight[n]
    return counts


def pair_counts(parent_codes, child_codes, y, n_parent_values, n_child_values, n_classes, weight=None):
    """Total weight of each (parent value, child value, class), [R_parent, R_child, C].

    With `parent_codes` None there is no parent, and R_parent is 1.
    """
    counts = np.zeros((1 if parent_codes is None else n_parent_values, n_child_values, n_classes))
    for n in range(len(y)):
        a = 0 if parent_codes is None else parent_codes[n]
        counts[a, child_codes[n], y[n]] += 1.0 if weight is None else weight[n]
    return counts


def maximum_likelihood_prior(counts, smoothing):
    """Probability of each class with `smoothing` added to every count, [C]."""
    total = sum(count + smoothing for count in counts)
    return np.array([(count + smoothing) / total for count in counts])


def maximum_likelihood_table(counts, smoothing):
    """Probability of the child's value given parent value and class, [R_parent, R_child, C].

    `smoothing` is added to every count; a column without any weight becomes uniform.
    """
    n_parent_values, n_child_values, n_classes = counts.shape
    table = np.zeros(counts.shape)
    for a in range(n_parent_values):
        for c in range(n_classes):
            total = sum(counts[a, b, c] + smoothing for b in range(n_child_values))
            for b in range(n_child_values):
                table[a, b, c] = (counts[a, b, c] + smoothing) / total if total > 0 else 1 / n_child_values
    return table


def conditional_mutual_information(codes, y, cards, n_classes, weight=None):
    """I(X_i; X_j | C) in nats from raw (weighted) counts, [D, D]; the diagonal is left zero."""
    n_features = len(cards)
    result = np.zeros((n_features, n_features))
    for i in range(n_features):
        for j in range(n_features):
            if i != j:
                counts = pair_counts(codes[:, j], codes[:, i], y, cards[j], cards[i], n_classes, weight)
                result[i, j] = conditional_information_of_table(counts)
    return result


def conditional_information_of_table(counts):
    """I(A; B | C) in nats of a table of counts [A, B, C]."""
    total = counts.sum()
    information = 0.0
    for a, b, c in np.ndindex(counts.shape):
        if counts[a, b, c] > 0:
            # sum of p(a, b, c) * log[p(a, b | c) / (p(a | c) * p(b | c))]
            of_class = counts[:, :, c].sum()
            ratio = counts[a, b, c] * of_class / (counts[a, :, c].sum() * counts[:, b, c].sum())
            information += counts[a, b, c] / total * math.log(ratio)
    return information


def direct(edges, n_features, root=0):
    """Direct undirected edges away from the root.

    Returns
    -------
    list of int or None
        Parent of each feature, -1 for the root; None if the edges do not reach every feature.
    """
    parents = [None] * n_features
    parents[root] = -1
    for _ in range(n_features):
        for i, j in edges:
            if parents[i] is not None and parents[j] is None:
                parents[j] = i
            elif parents[j] is not None and parents[i] is None:
                parents[i] = j
    return None if None in parents else parents


def maximum_spanning_tree(edge_weight, root=0):
    """Try every set of D - 1 edges and keep the heaviest tree; for D up to about 6.

    Returns
    -------
    list of int, float
        Parent of each feature, -1 for the root; sum of the weights of the edges.
    """
    n_features = len(edge_weight)
    best_parents, best_total = None, -math.inf
    pairs = itertools.combinations(range(n_features), 2)
    for edges in itertools.combinations(pairs, n_features - 1):
        parents = direct(edges, n_features, root)
        total = sum(edge_weight[i][j] for i, j in edges)
        if parents is not None and total > best_total:
            best_parents, best_total = parents, total
    return best_parents, best_total


def chow_liu(codes, y, cards, n_classes, weight=None, root=0):
    """Chow-Liu TAN structure: parents and total conditional mutual information."""
    return maximum_spanning_tree(conditional_mutual_information(codes, y, cards, n_classes, weight), root)


def marginal_log_joint(tables, prior, child, parent, selected, codes):
    """Log-joint [N, C] of the features that are present; code -1 is missing and summed over all its values.

    Cpts, prior and structure are as in `model_oracle`.
    """
    n_values = {child[e]: tables[e].shape[1] for e in selected}
    result = np.zeros((len(codes), len(prior)))
    for n, row in enumerate(codes):
        choices = [range(n_values[i]) if value == -1 else [value] for i, value in enumerate(row)]
        completed = np.array(list(itertools.product(*choices)))
        terms = log_joint(tables, prior, child, parent, selected, completed)
        for c in range(len(prior)):
            result[n, c] = log_sum_exp(terms[:, c])
    return result


def backed_off(counts, of_class, of_parent):
    """Frequencies of counts [G, R, C], pulled to those given the class and these to those of the values alone."""
    found = np.zeros_like(counts)
    n_lines, n_values, _ = counts.shape
    for g, v, c in np.ndindex(counts.shape):
        alone = (counts[:, v].sum() + 1) / (counts.sum() + n_values)
        given_class = (counts[:, v, c].sum() + of_class * alone) / (counts[:, :, c].sum() + of_class)
        found[g, v, c] = given_class
        if n_lines > 1:
            found[g, v, c] = (counts[g, v, c] + of_parent * given_class) / (counts[g, :, c].sum() + of_parent)
    return found


def backed_off_left_out(counts, of_class, of_parent):
    """The same for a row of each cell that has one, without that row; NaN in other cells."""
    found = np.full_like(counts, np.nan)
    for cell in zip(*np.nonzero(counts), strict=True):
        others = counts.copy()
        others[cell] -= 1
        found[cell] = backed_off(others, of_class, of_parent)[cell]
    return found
