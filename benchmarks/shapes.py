"""Shapes of the four data sets of the paper (section 4.1), and random data of those shapes.

Speed depends on the number of rows, classes and values and hardly on the values themselves, so benchmarks need no
data files. The numbers of values are those of the first training fold after discretisation.
"""

from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """Size of a training set.

    Attributes
    ----------
    n_rows : int
        Rows of the training fold.
    batch_size : int
        Rows of a mini-batch in the paper.
    n_classes : int
    cards : tuple of int
        Number of values of each feature.
    """

    n_rows: int
    batch_size: int
    n_classes: int
    cards: tuple[int, ...]


def _cards(digits: str) -> tuple[int, ...]:
    """Read one base 36 digit per feature."""
    return tuple(int(digit, 36) for digit in digits)


SHAPES = {
    "letter": Shape(13342, 100, 26, _cards("51534deddeed9988")),
    "satimage": Shape(5151, 50, 6, _cards("bbbccbbccbbbbbccfdbeecaccbbbbcacbdaa")),
    "usps": Shape(
        7340,
        100,
        10,
        _cards(
            "2222222222333444223333333446655423223323345544333433333334354543"
            "3333334334554353233333434544345424334434554334532433443453344353"
            "3433444444443342344444434443334234444444233333323534444422233333"
            "4544443322223333454444434322343244434444433333334543333322222332"
        ),
    ),
    "mnist": Shape(
        46669,
        250,
        10,
        _cards(
            "33567668787755355999acdcb9975799abeegfdde96bdbedeikkhghc"
            "7ffeikiiklhfkgcjmhgefjijgdmhdjmedgggihcjqibknddbhhgdcgnj"
            "dmlgcbegicddjfbmkfgdheehieidcihehhhkhffefbafeedfefdgc9b6"
            "7aadcccbca878547889cb8897663"
        ),
    ),
}

# As `MDLPDiscretizer` cuts scikit-learn's breast_cancer, with the batches of a default fit.
SMALL_SHAPES = {"breast_cancer": Shape(569, 16, 2, _cards("424423443141441333224344243432"))}


def random_codes(shape: Shape, seed: int) -> np.ndarray:
    """Draw uniform codes.

    Returns
    -------
    numpy.ndarray of int32, shape (n_rows, D)

    Examples
    --------
    >>> random_codes(SHAPES["letter"], seed=0).shape
    (13342, 16)
    """
    rng = np.random.default_rng([seed, 0])
    return rng.integers(0, shape.cards, size=(shape.n_rows, len(shape.cards)), dtype=np.int32)


def random_labels(shape: Shape, seed: int) -> np.ndarray:
    """Draw uniform class labels.

    Returns
    -------
    numpy.ndarray of int32, shape (n_rows,)

    Examples
    --------
    >>> int(random_labels(SHAPES["usps"], seed=0).max())
    9
    """
    rng = np.random.default_rng([seed, 1])
    return rng.integers(0, shape.n_classes, size=shape.n_rows, dtype=np.int32)


def random_candidates(shape: Shape, seed: int, n_parents: int = 8) -> list[list[int]]:
    """Draw up to `n_parents` predecessors of each feature in the order 0, 1, ..., as in TAN Subset (section 3.2).

    Returns
    -------
    list of list of int
        Candidates of each feature; the first is -1, no parent.

    Examples
    --------
    >>> candidates = random_candidates(SHAPES["letter"], seed=0)
    >>> candidates[0], candidates[1], len(candidates[15])
    ([-1], [-1, 0], 9)
    """
    rng = np.random.default_rng([seed, 2])
    return [[-1, *rng.permutation(i)[:n_parents].tolist()] for i in range(len(shape.cards))]
