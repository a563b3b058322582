"""The model: layout of the CPTs, closed-form parameters, distribution over parents, and the final network."""

from tanager.model.average import LogAverage, average_networks
from tanager.model.backoff import back_off
from tanager.model.blending import blend
from tanager.model.cpt_counts import (
    CptCounts,
    all_pairs,
    class_log_prior,
    conditional_mutual_information,
    count_rows,
    cpt_log_frequencies,
    log_frequencies,
    log_prior,
    recode,
)
from tanager.model.description import Description, clearer_description, describe
from tanager.model.effects import Effects, group_values, residual_gains
from tanager.model.layout import Groups, Layout, check_memory, make_groups, make_layout
from tanager.model.network import Network
from tanager.model.pair_scores import PAIR_SCORES, pair_scores
from tanager.model.parent_distribution import ParentDistribution
from tanager.model.queries import Marginals
from tanager.model.refining import common_groups, in_common_groups, refine, regroup
from tanager.model.settling import frequencies, settle
from tanager.model.tempering import best_temperature, can_temper, log_losses, temper

__all__ = [
    "PAIR_SCORES",
    "CptCounts",
    "Description",
    "Effects",
    "Groups",
    "Layout",
    "LogAverage",
    "Marginals",
    "Network",
    "ParentDistribution",
    "all_pairs",
    "average_networks",
    "back_off",
    "best_temperature",
    "blend",
    "can_temper",
    "check_memory",
    "class_log_prior",
    "clearer_description",
    "common_groups",
    "conditional_mutual_information",
    "count_rows",
    "cpt_log_frequencies",
    "describe",
    "frequencies",
    "group_values",
    "in_common_groups",
    "log_frequencies",
    "log_losses",
    "log_prior",
    "make_groups",
    "make_layout",
    "pair_scores",
    "recode",
    "refine",
    "regroup",
    "residual_gains",
    "settle",
    "temper",
]
