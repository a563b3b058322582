"""Pictures and tables of what was learned."""

from tanager.report.structure_picture import draw_structure, save_structure

__all__ = ["draw_structure", "save_structure"]
