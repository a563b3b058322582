"""Pictures of fitted classifiers, drawn with matplotlib (the extra ``tanager[plots]``)."""

from tanager.pictures.cpts import Axis, draw_log_ratio, draw_probabilities
from tanager.pictures.explanation import draw_explanation
from tanager.pictures.frontier import draw_frontier
from tanager.pictures.graph import draw_circle, draw_tree
from tanager.pictures.history import draw_history
from tanager.pictures.importance import draw_importance
from tanager.pictures.structure import draw_structure, save_structure

__all__ = [
    "Axis",
    "draw_circle",
    "draw_explanation",
    "draw_frontier",
    "draw_history",
    "draw_importance",
    "draw_log_ratio",
    "draw_probabilities",
    "draw_structure",
    "draw_tree",
    "save_structure",
]
