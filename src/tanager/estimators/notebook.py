"""What a notebook shows of a fitted classifier: scikit-learn's diagram, a summary in words, and the structure."""

from __future__ import annotations

import html
import io
from typing import Any

from tanager.pictures.drawing import import_matplotlib

_MOST_DRAWN = 60  # features; a picture of more says little in a notebook


class NotebookMixin:
    """Adds a summary and a picture below scikit-learn's HTML of a fitted estimator."""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._fitted_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] += self._fitted_html()
        return shown

    def _fitted_html(self) -> str:
        """Summary and picture as HTML, or nothing before a fit."""
        if not hasattr(self, "_findings"):
            return ""
        words = "".join(f"<p>{html.escape(line)}</p>" for line in self.summary().splitlines())  # type: ignore[attr-defined]
        return f'<div style="max-width: 60em">{words}{self._picture()}</div>'

    def _picture(self) -> str:
        """The structure as SVG, if matplotlib is installed and the features are not too many."""
        if len(self.encoder_.columns) > _MOST_DRAWN:  # type: ignore[attr-defined]
            return ""
        try:
            figure = import_matplotlib("figure").Figure(figsize=(8, 6), layout="constrained")
        except ImportError:
            return ""
        self.plot_structure(ax=figure.subplots())  # type: ignore[attr-defined]
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", bbox_inches="tight")
        text = drawn.getvalue()
        return text[text.index("<svg") :]
