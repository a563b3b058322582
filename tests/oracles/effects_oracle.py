"""Sums of effects in loops: scores, loss, gradient and curvature with all penalties, gains of pairs, codes of groups.

A table is a pair of columns, the second -1 where there is one only. Theta has their cells [x_a, x_b, c], table after
table, and then the bias. With two classes theta has the difference of their scores only, and C is 1.
"""

import math
from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """Rows and tables; edges has a list of weights for each column, between each value and the next."""

    columns: np.ndarray  # int[K, N]
    y: np.ndarray
    weight: np.ndarray
    n_classes: int
    cards: list[int]
    edges: list[list[float]]
    tables: list[tuple[int, int]]
    copies: float = 1.0  # number of classes that any but a row's own stands for

    @property
    def width(self):
        return 1 if self.n_classes == 2 else self.n_classes

    def shapes(self):
        return [(self.cards[a], 1 if b < 0 else self.cards[b], self.width) for a, b in self.tables]

    def split(self, theta):
        """Tables of theta, and its bias."""
        parts, start = [], 0
        for shape in self.shapes():
            stop = start + math.prod(shape)
            parts.append(np.array(theta[start:stop], np.float64).reshape(shape))
            start = stop
        return parts, np.array(theta[start:], np.float64)

    def cells(self, n):
        """The cell of each table that row n has."""
        x = self.columns[:, n]
        return [(int(x[a]), 0 if b < 0 else int(x[b])) for a, b in self.tables]


def n_entries(problem):
    """Entries of theta."""
    return sum(map(math.prod, problem.shapes())) + problem.width


def probabilities(problem, theta):
    """Probability of each class for each row, [N, C]."""
    tables, bias = problem.split(theta)
    result = np.empty((len(problem.y), problem.n_classes))
    for n in range(len(problem.y)):
        scores = bias.copy()
        for table, cell in zip(tables, problem.cells(n), strict=True):
            scores += table[cell]
        if problem.n_classes == 2:
            scores = np.array([0.0, scores[0]])
        scores[problem.y[n]] -= math.log(problem.copies)
        shifted = np.exp(scores - scores.max())
        result[n] = shifted / shifted.sum()
    return result


def log_likelihood_loss(problem, theta):
    """Weighted sum of the log-losses of all rows."""
    of_rows = probabilities(problem, theta)
    return -sum(w * math.log(p[y]) for w, p, y in zip(problem.weight, of_rows, problem.y, strict=True))


def penalty_terms(problem, t, penalty):
    """The squares that a penalty adds up for table t: pairs of a strength and of factors by cell."""
    ridge, along, across, bend_along, bend_across = penalty
    a_column, b_column = problem.tables[t]
    card, card_other, _ = problem.shapes()[t]
    for a in range(card):
        for b in range(card_other):
            yield ridge, {(a, b): 1.0}
            if a + 1 < card:
                yield along * problem.edges[a_column][a], {(a, b): -1.0, (a + 1, b): 1.0}
            if b + 1 < card_other:
                yield across * problem.edges[b_column][b], {(a, b): -1.0, (a, b + 1): 1.0}
            if a + 2 < card:
                strength = bend_along * problem.edges[a_column][a] * problem.edges[a_column][a + 1]
                yield strength, {(a, b): 1.0, (a + 1, b): -2.0, (a + 2, b): 1.0}
            if b + 2 < card_other:
                strength = bend_across * problem.edges[b_column][b] * problem.edges[b_column][b + 1]
                yield strength, {(a, b): 1.0, (a, b + 1): -2.0, (a, b + 2): 1.0}


def loss(problem, theta, penalties):
    """The loss with half of every penalty."""
    total = log_likelihood_loss(problem, theta)
    tables, _ = problem.split(theta)
    for t, table in enumerate(tables):
        for strength, factors in penalty_terms(problem, t, penalties[t]):
            for c in range(problem.width):
                total += 0.5 * strength * sum(factor * table[cell][c] for cell, factor in factors.items()) ** 2
    return total


def gradient(problem, theta, penalties):
    """Derivative of the loss with respect to theta."""
    tables, bias = problem.split(theta)
    of_tables, of_bias = [np.zeros_like(table) for table in tables], np.zeros_like(bias)
    for n, of_row in enumerate(probabilities(problem, theta)):
        residual = of_row - (np.arange(problem.n_classes) == problem.y[n])
        residual = problem.weight[n] * (residual[1:] if problem.n_classes == 2 else residual)
        of_bias += residual
        for table, cell in zip(of_tables, problem.cells(n), strict=True):
            table[cell] += residual
    for t, table in enumerate(tables):
        for strength, factors in penalty_terms(problem, t, penalties[t]):
            for c in range(problem.width):
                size = strength * sum(factor * table[cell][c] for cell, factor in factors.items())
                for cell, factor in factors.items():
                    of_tables[t][cell][c] += size * factor
    return np.concatenate([*(table.ravel() for table in of_tables), of_bias])


def curvature(problem, theta, penalties):
    """The diagonal of the loss's second derivative."""
    tables, bias = problem.split(theta)
    of_tables, of_bias = [np.zeros_like(table) for table in tables], np.zeros_like(bias)
    for n, of_row in enumerate(probabilities(problem, theta)):
        variance = problem.weight[n] * (of_row * (1 - of_row))[1 if problem.n_classes == 2 else 0 :]
        of_bias += variance
        for table, cell in zip(of_tables, problem.cells(n), strict=True):
            table[cell] += variance
    for t, table in enumerate(of_tables):
        for strength, factors in penalty_terms(problem, t, penalties[t]):
            for cell, factor in factors.items():
                table[cell] += strength * factor**2
    return np.concatenate([*(table.ravel() for table in of_tables), of_bias])


def pair_gains(columns, cards, residual, curvature, ridge):
    """What a Newton step for the table of each pair of columns would gain, less what chance would, [K, K]."""
    gains = np.zeros((len(cards), len(cards)))
    for i in range(len(cards)):
        for j in range(len(cards)):
            if i == j:
                continue
            for x_i in range(cards[i]):
                for x_j in range(cards[j]):
                    has_cell = (columns[i] == x_i) & (columns[j] == x_j)
                    g, h = residual[has_cell].sum(axis=0), curvature[has_cell].sum(axis=0)
                    gains[i, j] += 0.5 * ((g**2 - h) / (h + ridge)).sum()
    return gains


def group_codes(codes, maps):
    """Codes and groups, [N, 2 D]; what is not a value is the number of values, and that of groups."""
    wide = []
    for row in codes.tolist():
        is_known = [0 <= code < len(each) for code, each in zip(row, maps, strict=True)]
        values = [code if known else len(each) for code, each, known in zip(row, maps, is_known, strict=True)]
        groups = [each[code] if known else max(each) + 1 for code, each, known in zip(row, maps, is_known, strict=True)]
        wide.append([*values, *groups])
    return wide
