"""Entropy cuts with the MDL stop (Fayyad and Irani, 1993), written as loops over rows.

Rule "textbook" looks at every gap between distinct values; rule "best-passing" takes the best of the gaps that pass,
among the boundary points of Fayyad and Irani: gaps that are not between values of one and the same single class.
"""

import itertools
import math

TIE = 1e-9


def mdlp_cuts(values, y, weight=None, rule="textbook", max_bins=None):
    """Cuts of one column, lowest first; with `max_bins` the cuts of largest gain are made first."""
    weight = [1.0] * len(y) if weight is None else weight
    rows = sorted((x, c, w) for x, c, w in zip(values, y, weight, strict=True) if w > 0 and x == x)
    bins, cuts = [rows], []
    while max_bins is None or len(bins) < max_bins:
        splits = [(split, part) for part in bins if (split := best_split(part, rule)) is not None]
        if not splits:
            break
        top = max(gain for (gain, _), _ in splits)
        (_, cut), part = min((s for s in splits if s[0][0] >= top - TIE), key=lambda s: s[0][1])
        cuts.append(cut)
        bins.remove(part)
        bins += [[row for row in part if row[0] < cut], [row for row in part if row[0] >= cut]]
    return sorted(cuts)


def best_split(rows, rule):
    """(gain, cut) of the split to make, or None."""
    if sum(w for _, _, w in rows) < 2:
        return None
    distinct = sorted({x for x, _, _ in rows})
    candidates = []
    for low, high in itertools.pairwise(distinct):
        neighbours = {c for x, c, _ in rows if x in (low, high)}
        if rule == "textbook" or len(neighbours) > 1:
            left, right = [row for row in rows if row[0] <= low], [row for row in rows if row[0] >= high]
            candidates.append((*judge_split(rows, left, right), (low + high) / 2))
    candidates = [(gain, passes, cut) for gain, passes, cut in candidates if gain > TIE]
    if rule == "best-passing":
        candidates = [candidate for candidate in candidates if candidate[1]]
    if not candidates:
        return None
    top = max(gain for gain, _, _ in candidates)
    gain, passes, cut = min((c for c in candidates if c[0] >= top - TIE), key=lambda c: c[2])
    return (gain, cut) if passes else None


def judge_split(rows, left, right):
    """Information gained in all rows, N gain, and whether it passes the MDL test."""
    n, k, entropy = describe(rows)
    n1, k1, entropy1 = describe(left)
    n2, k2, entropy2 = describe(right)
    gain = n * entropy - n1 * entropy1 - n2 * entropy2
    change = math.log2(3**k - 2) - (k * entropy - k1 * entropy1 - k2 * entropy2)
    return gain, gain > math.log2(n - 1) + change


def describe(rows):
    """Weight, number of classes and class entropy in bits."""
    counts = {}
    for _, c, w in rows:
        counts[c] = counts.get(c, 0.0) + w
    n = sum(counts.values())
    return n, len(counts), -sum(count / n * math.log2(count / n) for count in counts.values())
