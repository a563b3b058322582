"""Pictures of what was learned, with matplotlib (the extra ``tanager[plots]``)."""

from tanager.pictures.explanation import draw_explanation
from tanager.pictures.structure import draw_structure, save_structure

__all__ = ["draw_explanation", "draw_structure", "save_structure"]
