"""Facts about each data set that require no file (section 4.1 of the paper)."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Entry:
    """A data set.

    Attributes
    ----------
    name : str
    n_rows, n_features : int
        Training and test rows together.
    mean_card : float
        Mean number of values of a feature after discretisation.
    n_folds : int
        Folds that the experiments average over.
    n_parts : int
        Number of parts that the split rule cuts each class into; each fold tests on one part.
    class_names : tuple of str
        In the order of the class numbers.
    rule : {"textbook", "best-passing"}
        Which variant of the MDL method binned the features.
    image_shape : (int, int) or None
        Rows and columns of an image, in the order in which its pixels are numbered. The paper numbers pixels down the
        columns, so its images are transposed.
    """

    name: str
    n_rows: int
    n_features: int
    mean_card: float
    n_folds: int
    n_parts: int
    class_names: tuple[str, ...]
    rule: Literal["textbook", "best-passing"]
    image_shape: tuple[int, int] | None = None

    @property
    def is_published(self) -> bool:
        """Whether the paper has results on this data set."""
        return self.name != "digits"


_SOILS = (
    "red soil",
    "cotton crop",
    "grey soil",
    "damp grey soil",
    "soil with vegetation stubble",
    "very damp grey soil",
)
_DIGITS = tuple(string.digits)

CATALOGUE = {
    entry.name: entry
    for entry in (
        Entry("letter", 20_000, 16, 9.1, 1, 3, tuple(string.ascii_uppercase), "best-passing"),
        Entry("satimage", 6435, 36, 11.5, 5, 5, _SOILS, "best-passing"),
        Entry("usps", 11_000, 256, 3.4, 1, 3, (*_DIGITS[1:], "0"), "textbook", (16, 16)),
        Entry("mnist", 70_000, 196, 13.2, 1, 3, _DIGITS, "best-passing", (14, 14)),
        Entry("digits", 1797, 64, 2.9, 1, 3, _DIGITS, "best-passing", (8, 8)),
    )
}
"""All data sets by name: the paper's four in its order, then digits."""

SHA256 = {
    "letter_raw.npz": "9b0db46db7c9ac1ba10cb6a0069fecce418aae9edae147231590fe32db784e33",
    "satimage_raw.npz": "366d75b91ab3007fcfc332c3fa4c9db9455e292983236fcb3a8d177fc5bca76d",
    "usps_raw.npz": "ca3524e2e68d6148e3de7cef0a74fb5dda1dff5785245ee35fa6f699535dc317",
    "mnist_raw.npz": "1f9bf82b0fed8fdbb4d33dfa95b18421075357ea5228f5f18e26219b7dc7fe8b",
    "letter_paper.npz": "7087556a32e87098a6fb2f41db722469429169311a5fcf84e6cb1997f66546a2",
    "satimage_paper.npz": "f43a251b46b5887a02710589149960e0dee7a1415d17850da8facfca5a3d92c6",
    "usps_paper.npz": "0bcdbc28a12c9558bd4bd8511da54c739d942c005504d6b793221da0b1f304fb",
    "mnist_paper.npz": "022878d04569bcce1a5a7c8c6d4ad5f94e18ae94e4ecb9d331d2edd091fa9a0f",
}
"""SHA-256 of each data file."""


def find_entry(name: str) -> Entry:
    """Return the entry of a data set.

    >>> find_entry("usps").image_shape
    (16, 16)
    """
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def check_fold(entry: Entry, fold: int) -> None:
    """Raise an error if the data set has no such fold."""
    if not isinstance(fold, int) or not 1 <= fold <= entry.n_folds:
        folds = "one fold, number 1" if entry.n_folds == 1 else f"folds 1 to {entry.n_folds}"
        raise ValueError(f"{entry.name} has {folds}, got fold {fold!r}")
