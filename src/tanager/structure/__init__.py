"""Structures: candidate parents of features, orderings of features, and forests."""

from tanager.structure.candidates import (
    all_candidates,
    candidates_from_permutations,
    draw_permutations,
    fixed_parents,
    naive_bayes,
    nearest_candidates,
    pseudo_candidates,
    random_parents,
    subset_candidates,
)
from tanager.structure.edge_rules import EdgeRules, check_edges
from tanager.structure.forest import (
    depth_first_order,
    find_cycle,
    maximum_arborescence,
    maximum_spanning_tree,
    topological_order,
)
from tanager.structure.orderings import (
    along_diagonal,
    centre_outwards,
    natural_order,
    pixel_positions,
    random_order,
    row_wise,
)
from tanager.structure.pair_candidates import PairRule, with_pairs
from tanager.structure.pairs import dependence_order, extra_parents_of
from tanager.structure.parent_sets import NO_PARENT, ParentSets
from tanager.structure.screening import screened_candidates

__all__ = [
    "NO_PARENT",
    "EdgeRules",
    "PairRule",
    "ParentSets",
    "all_candidates",
    "along_diagonal",
    "candidates_from_permutations",
    "centre_outwards",
    "check_edges",
    "dependence_order",
    "depth_first_order",
    "draw_permutations",
    "extra_parents_of",
    "find_cycle",
    "fixed_parents",
    "maximum_arborescence",
    "maximum_spanning_tree",
    "naive_bayes",
    "natural_order",
    "nearest_candidates",
    "pixel_positions",
    "pseudo_candidates",
    "random_order",
    "random_parents",
    "row_wise",
    "screened_candidates",
    "subset_candidates",
    "topological_order",
    "with_pairs",
]
