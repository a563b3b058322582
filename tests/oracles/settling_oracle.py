"""Frequencies of a forest that classifies, by sums over every row that there could be."""

from itertools import product

import numpy as np


def every_row(cards, n_classes):
    """All rows with all classes, the class last."""
    return list(product(*(range(card) for card in cards), range(n_classes)))


def joint_table(tables, log_prior, parents, groups, cards):
    """Probability of every row and class, whatever CPTs sum to; ``groups[j][x]`` is the group of a value."""
    n_classes = len(log_prior)
    scores = []
    for *row, c in every_row(cards, n_classes):
        score = log_prior[c]
        for i, x in enumerate(row):
            above = 0 if parents[i] < 0 else groups[parents[i]][row[parents[i]]]
            score += tables[i][above][x][c]
        scores.append(score)
    weights = np.exp(np.array(scores) - max(scores))
    return weights / weights.sum()


def settle(joint, frequencies, classes, tolerance, parents, groups, order, cards, n_sweeps):
    """The joint table after that one of some sweeps of iterative proportional fitting that comes nearest."""
    rows = every_row(cards, len(classes))
    multipliers, nearest, least = np.zeros(len(classes)), joint, np.inf
    for _ in range(n_sweeps):
        off = 0.0
        for i in order:
            place = [(0 if parents[i] < 0 else groups[parents[i]][row[parents[i]]], row[i]) for row in rows]
            of_class = class_frequencies(joint, rows, len(classes))
            now, goal = np.zeros_like(frequencies[i]), np.array(frequencies[i], float)
            for at, p, row in zip(place, joint, rows, strict=True):
                now[at] += p
                goal[at] += multipliers[row[-1]] * p / of_class[row[-1]]
            goal = np.maximum(goal, 0.1 * frequencies[i])
            goal /= goal.sum()
            joint = np.array([p * goal[at] / now[at] for at, p in zip(place, joint, strict=True)])
            off = max(off, np.abs(goal - now).sum() / 0.05)
        missing = classes - class_frequencies(joint, rows, len(classes))
        multipliers += 0.8 * missing
        off = max(off, (np.abs(missing) / tolerance).max())
        if off < least:
            nearest, least = joint, off
        if off < 1.0:
            break
    return nearest


def class_frequencies(joint, rows, n_classes):
    """How probable each class is."""
    return np.array([sum(p for p, row in zip(joint, rows, strict=True) if row[-1] == c) for c in range(n_classes)])
