"""Recipes: a structure and the parameters to learn for it. The presets are recipes with names.

Where structure or parameters are left open, an estimator tries the recipes that `recipes_for` gives
(docs/defaults.md says how the presets were chosen, and what they were measured on).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from tanager._options import Options, ShortNames, is_auto
from tanager.learning.context import RESIDUAL, Context
from tanager.learning.gradient_descent import GradientDescent
from tanager.learning.parameters import Counts, Fitted, Parameters
from tanager.learning.penalised import PenalisedLikelihood
from tanager.learning.rows import Rows
from tanager.learning.score_searches import AnnealedSearch, GreedySearch
from tanager.learning.structures import (
    AllPredecessors,
    ChowLiu,
    FixedParents,
    Free,
    GivenSpace,
    KDependence,
    NoParents,
    Pseudo,
    RandomTree,
    Structure,
    Subset,
)
from tanager.losses import Hybrid
from tanager.model import Layout, check_memory, make_layout
from tanager.structure import ParentSets

RecipeT = TypeVar("RecipeT")

AUTO = "auto"
GIVEN = "given"
"""Name of the recipe where structure and parameters leave nothing to choose."""

STRUCTURES = ShortNames(
    "structure",
    {
        "none": NoParents,
        "random": RandomTree,
        "chow-liu": ChowLiu,
        "subset": Subset,
        "all": AllPredecessors,
        "free": Free,
        "pseudo": Pseudo,
        "k-dependence": KDependence,
        "greedy": GreedySearch,
        "annealed": AnnealedSearch,
    },
    "space",
    also=(AUTO,),
    others="a value such as Subset(...), a list of parents or a ParentSets",
    renamed={
        "tree": "ChowLiu(score=...)",
        "nearest": "Nearest(image_shape=...)",
        "greedy-conditional": "'greedy' or GreedySearch()",
        "greedy-margin": "GreedySearch('margin')",
        "greedy-left-out": "GreedySearch('margin', leave_one_out=True)",
        "annealed-margin": "'annealed' or AnnealedSearch()",
    },
)
"""Structures by the words that estimators take for them; `Nearest` needs an image shape and has none."""

PARAMETERS = ShortNames(
    "parameters",
    {"ml": Counts, "gradient": GradientDescent, "penalised": PenalisedLikelihood},
    "learn",
    also=(AUTO,),
    others="a value such as GradientDescent(...)",
)
"""Parameters by the words that estimators take for them."""


class Recipe(Options):
    """A structure and how its parameters are learned.

    Parameters
    ----------
    structure : Structure, str, list of parents or ParentSets
    parameters : Parameters or str

    Examples
    --------
    >>> Recipe("subset", GradientDescent(epochs=5)).set_params(structure__max_parents=3)
    Recipe(structure=Subset(max_parents=3), parameters=GradientDescent(epochs=5))
    """

    short_names: ClassVar = {"structure": STRUCTURES, "parameters": PARAMETERS}

    structure: Any
    parameters: Any

    def __post_init__(self) -> None:
        structure, parameters = as_structure(self.structure), as_parameters(self.parameters)
        if parameters.needs_fixed and not structure.is_fixed:
            raise ValueError(
                f"parameters={self.parameters!r} requires a fixed structure, but structure={self.structure!r} is a "
                "search: use 'none', 'random', 'chow-liu' or a list of parents, or train it with GradientDescent"
            )

    def learn(self, context: Context, seed: int) -> Fitted:
        """Learn a network from the rows of a context."""
        layout, parameters = self.lay_out(context, seed), as_parameters(self.tuned(context, seed).parameters)
        (fitted,) = parameters.learn([layout], context, seed, as_structure(self.structure).forest)
        if context.rules is not None:
            context.rules.check(fitted.network.extra_parents)
        return fitted

    def tuned(self, context: Context, seed: int) -> Recipe:
        """The recipe with all that is chosen on held-out rows decided."""
        parameters = as_parameters(self.parameters)
        tuned = parameters.tuned(lambda part: [self.lay_out(part, seed)], context, seed)
        return self if tuned is parameters else Recipe(self.structure, tuned)

    def lay_out(self, context: Context, seed: int) -> Layout:
        """Find the space that parameters are learned in, and lay out its CPTs."""
        structure, rng = as_structure(self.structure), np.random.default_rng(seed)
        space = self._checked(structure.search(self._space(context, rng), context, rng))
        if structure.is_fixed and not space.is_fixed and context.rules is None:  # rules may add "no parent"
            raise ValueError(f"structure={self.structure!r} says is_fixed=True, but leaves features several candidates")
        groups = as_parameters(self.parameters).groups(context)
        layout = make_layout(space, context.rows.cards, context.rows.n_classes, groups=groups)
        check_memory(layout)
        return layout

    def _space(self, context: Context, rng: np.random.Generator) -> ParentSets:
        """The candidates of each feature, without edges that are forbidden and with those that are required."""
        space = self._checked(as_structure(self.structure).space(context, rng))
        return space if context.rules is None else context.rules.keep(space)

    def _checked(self, space: Any) -> ParentSets:
        """What a structure, which may be the user's own, found: it must be a search space."""
        if not isinstance(space, ParentSets):
            raise TypeError(
                f"space and search of structure={self.structure!r} must return a ParentSets, got "
                f"{type(space).__name__}; ParentSets.from_lists makes one from lists"
            )
        return space

    def memory_needed(self, context: Context) -> int:
        """Bytes of the CPTs of the whole space while parameters are learned; nothing is searched or trained."""
        space = self._space(context, np.random.default_rng(0))
        parameters = as_parameters(self.parameters)
        layout = make_layout(space, context.rows.cards, context.rows.n_classes, groups=parameters.groups(context))
        return int(parameters.training_bytes(layout)) + int(parameters.row_bytes(context.rows))

    def used(self, context: Context) -> Recipe:
        """The recipe as values, with all that depends on the number of rows decided."""
        return Recipe(as_structure(self.structure), context.sized(as_parameters(self.parameters)))


def able_to_have_edges(recipes: Mapping[str, RecipeT]) -> dict[str, RecipeT]:
    """The recipes whose structure has edges at all, for where some are required; at least one."""
    structures = {name: getattr(getattr(each, "members", each), "structure", None) for name, each in recipes.items()}
    able = {
        name: recipes[name]
        for name, structure in structures.items()
        if structure is None or not isinstance(as_structure(structure), NoParents)
    }
    if not able:
        raise ValueError("require contradicts the structure 'none', which has no edges: use another structure")
    return able


def able_to_be_monotone(recipes: Mapping[str, RecipeT]) -> dict[str, RecipeT]:
    """The recipes whose parameters can keep the log-odds rising along features; at least one."""
    parameters = {name: as_parameters(each.parameters) for name, each in recipes.items()}  # type: ignore[attr-defined]
    able = {name: recipes[name] for name, each in parameters.items() if getattr(each, "can_be_monotone", False)}
    if not able:
        raise ValueError(
            "monotonic_cst requires PenalisedLikelihood, the only parameters that can be kept in order, got parameters="
            f"{next(iter(parameters.values()))!r}: use parameters='penalised' and a fixed structure, such as 'chow-liu'"
        )
    return able


def as_structure(structure: Any) -> Structure:
    """The structure that a word, a list of parents or a search space stands for."""
    if isinstance(structure, ParentSets):
        return GivenSpace(structure)
    if isinstance(structure, (list, tuple)) or hasattr(structure, "__array__"):
        return FixedParents(structure)
    found: Structure = STRUCTURES.resolve(structure)
    lacking = [name for name in ("is_fixed", "forest", "may_have_cycles", "search") if not hasattr(found, name)]
    if lacking and hasattr(found, "space"):
        raise ValueError(
            f"structure={structure!r} lacks {', '.join(lacking)}: tanager.learning.structures.StructureOptions, "
            "as a base class, has them"
        )
    return found


def as_parameters(parameters: Any) -> Parameters:
    """The parameters that a word stands for."""
    found: Parameters = PARAMETERS.resolve(parameters)
    return found


def bins_of(recipe: Any) -> str:
    """How numbers are cut for a recipe where the estimator leaves it open: "fine", "auto", or the cuts of "both"."""
    if not as_parameters(recipe.parameters).is_fine:
        return "auto"
    return "fine" if getattr(recipe, "companion", None) is None else "both"


_FREE = Free(candidates="mixed")

PRESETS: Mapping[str, Recipe] = {
    "tree": Recipe(ChowLiu(RESIDUAL), PenalisedLikelihood(least_gain="auto")),
    "margin": Recipe(
        _FREE,
        GradientDescent(
            Hybrid(lam=30.0, gamma=20.0),
            learning_rate_decay=0.03,
            parent_dropout=0.2,
            structure_learning_rate=0.03,
            smoothness=0.03,
        ),
    ),
}
"""Recipes for one tree that are tried where nothing is given; docs/defaults.md has what each is for."""

_FOR_MANY_ROWS, FOR_MANY_COLUMNS = ("margin", "wide margin"), ("smooth margin",)
_MANY_ROWS, _MANY_CLASSES, _MANY_ROWS_OF_CLASS = 2_500, 10, 25
_MANY_COLUMNS, _FEWEST_ROWS_OF_CLASS = 16, 10


def worth_trying(recipes: Mapping[str, RecipeT], rows: Rows, *, may_combine: bool = False) -> dict[str, RecipeT]:
    """The presets that may be best for some rows, alone or combined with the first.

    Margins only pay off with many classes and many rows, or, as companions of other trees, with many columns.
    """
    many_rows = max(_MANY_ROWS, _MANY_ROWS_OF_CLASS * rows.n_classes)
    has_many_rows = rows.n_classes >= _MANY_CLASSES and rows.n_counted >= many_rows
    has_rows = rows.n_counted >= _FEWEST_ROWS_OF_CLASS * rows.n_classes
    has_many_columns = may_combine and not has_many_rows and has_rows and len(rows.cards) >= _MANY_COLUMNS
    left_out = {*(() if has_many_rows else _FOR_MANY_ROWS), *(() if has_many_columns else FOR_MANY_COLUMNS)}
    first = next(iter(recipes))
    return {name: each for name, each in recipes.items() if name == first or name not in left_out}


def recipes_for(structure: Any, parameters: Any) -> dict[str, Recipe]:
    """Recipes to choose among, by name, for options of which either may be "auto".

    Examples
    --------
    >>> list(recipes_for("auto", "ml"))
    ['none', 'chow-liu']
    >>> recipes_for("chow-liu", "auto")
    {'given': Recipe(structure='chow-liu', parameters=GradientDescent())}
    """
    is_open = is_auto(structure), is_auto(parameters)
    if is_open == (True, True):
        return dict(PRESETS)
    if is_open == (False, True):
        return {GIVEN: Recipe(structure, GradientDescent())}
    if is_open == (False, False):
        return {GIVEN: Recipe(structure, parameters)}
    if as_parameters(parameters).is_fine:
        return {"tree": Recipe(ChowLiu(RESIDUAL), parameters)}
    if as_parameters(parameters).needs_fixed:
        return {"none": Recipe(NoParents(), parameters), "chow-liu": Recipe(ChowLiu(), parameters)}
    return {"free": Recipe(_FREE, parameters), "none": Recipe(NoParents(), parameters)}
