"""The methods of the paper: the eight columns of its Table 1, and two experiments of its text (section 4)."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.datasets import Entry


@dataclass(frozen=True)
class Method:
    """How a structure is chosen and its parameters are learned.

    Attributes
    ----------
    name, title : str
        Name on the command line, and name to display.
    choices : tuple of str
        Which of "ordering", "draw" and "max_parents" identify a search space of this method.
    is_trained : bool
        Whether parameters are trained by gradient descent; otherwise they are maximum likelihood estimates.
    has_margin : bool
        Whether the loss has the hyperparameters lambda, gamma and eta.
    """

    name: str
    title: str
    choices: tuple[str, ...] = ()
    is_trained: bool = True
    has_margin: bool = True


TABLE_METHODS = (
    Method("nb-ml", "NB, ML", is_trained=False, has_margin=False),
    Method("chow-liu-ml", "Chow-Liu, ML", is_trained=False, has_margin=False),
    Method("nb", "NB"),
    Method("random", "TAN Random", ("ordering", "draw")),
    Method("chow-liu", "Chow-Liu"),
    Method("subset", "TAN Subset", ("ordering", "draw", "max_parents")),
    Method("all", "TAN All", ("ordering",)),
    Method("heuristic", "TAN Heuristic", ("ordering", "max_parents")),
)
"""The columns of Table 1, from left to right."""

METHODS = {
    method.name: method
    for method in (
        *TABLE_METHODS,
        Method("pseudo", "pseudo-TAN", ("draw", "max_parents")),
        Method("recover", "Chow-Liu recovery", ("draw", "max_parents"), has_margin=False),
    )
}
"""All methods by name."""

# All predecessors of every feature would be too many CPTs for the larger images; the paper omits them, too.
MOST_FEATURES_FOR_ALL = 64


def find_method(name: str) -> Method:
    """Return a method.

    >>> find_method("subset").title
    'TAN Subset'
    """
    if name not in METHODS:
        raise ValueError(f"there is no method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]


def methods_for(entry: Entry) -> list[str]:
    """Columns of Table 1 that make sense for a data set.

    >>> from tanager.datasets import find_entry
    >>> methods_for(find_entry("letter"))
    ['nb-ml', 'chow-liu-ml', 'nb', 'random', 'chow-liu', 'subset', 'all']
    """
    return [method.name for method in TABLE_METHODS if applies(method.name, entry)]


def applies(method: str, entry: Entry) -> bool:
    """Whether a method makes sense for a data set: "all" for few features, "heuristic" for images."""
    if method == "all":
        return entry.n_features <= MOST_FEATURES_FOR_ALL
    return method != "heuristic" or entry.image_shape is not None
