"""Pictures of fitted classifiers, drawn with matplotlib (the extra ``tanager[plots]``)."""

from tanager.pictures.cpts import Axis, draw_log_ratio, draw_probabilities
from tanager.pictures.explanation import draw_explanation
from tanager.pictures.history import draw_history
from tanager.pictures.structure import draw_structure, save_structure

__all__ = [
    "Axis",
    "draw_explanation",
    "draw_history",
    "draw_log_ratio",
    "draw_probabilities",
    "draw_structure",
    "save_structure",
]
