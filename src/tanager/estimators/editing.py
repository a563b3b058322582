"""Editing a fitted classifier by hand, with a record of who changed what, when and why."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from sklearn.utils.validation import check_is_fitted

from tanager.estimators.knowledge import ColumnNames, edge_rules
from tanager.learning import Editable, SetLine, SetParent
from tanager.learning.edges import with_edges_of
from tanager.learning.editing import Change
from tanager.model import average_networks
from tanager.training import ParentPath


class Edit(NamedTuple):
    """A change that was made."""

    when: str  # in UTC, as in ISO 8601
    who: str
    why: str
    what: str
    change: Change

    def to_dict(self) -> dict[str, str]:
        """The record as texts."""
        return {"when": self.when, "who": self.who, "what": self.what, "why": self.why}


class EditHistory(NamedTuple):
    """The changes of a classifier, and what it was before them."""

    edits: tuple[Edit, ...]
    before: Editable
    records: Mapping[str, Any]  # the parent path before the first change of an edge


class MemberEditingMixin:
    """Adds `edit` and `undo` to an ensemble."""

    def edit(self, change: Change, *, member: int, who: str, why: str) -> Self:
        """Change a line of a CPT, or an edge, of one member, and keep a record of it.

        Parameters
        ----------
        change : SetLine or SetParent
        member : int
            Number of the member in ``estimators_``, counted from 0.
        who, why : str
            For the record.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        members: list[Any] = self.__dict__["estimators_"]
        if isinstance(member, bool) or not isinstance(member, int) or not 0 <= member < len(members):
            raise ValueError(f"member must be a number from 0 to {len(members) - 1}, got {member!r}")
        return self._replace_member(member, copy(members[member]).edit(change, who=who, why=why))

    def undo(self) -> Self:
        """Take back the last change.

        Returns
        -------
        self
        """
        edits = self.edits_
        if not edits:
            raise ValueError("there is nothing to undo")
        member = int(edits[-1]["member"])
        return self._replace_member(member, copy(self.__dict__["estimators_"][member]).undo())

    @property
    def edits_(self) -> list[dict[str, str]]:
        """Changes by hand since the fit: when, who, what and why, and of which member, the oldest first."""
        check_is_fitted(self)
        members: list[Any] = self.__dict__["estimators_"]
        edits = [{**each, "member": str(k)} for k, member in enumerate(members) for each in member.edits_]
        return sorted(edits, key=lambda each: each["when"])

    def _replace_member(self, number: int, changed: Any) -> Self:
        clf: Any = self
        members = [changed if k == number else each for k, each in enumerate(clf.estimators_)]
        networks = [each.network_ for each in members]
        found = {
            "estimators_": members,
            "average_": average_networks(networks),
            "_findings": with_edges_of(clf._findings, networks),
        }
        self.__dict__ = {**{name: each for name, each in vars(self).items() if name != "conformal_"}, **found}
        return self


class EditingMixin:
    """Adds `edit` and `undo` to a classifier of one network."""

    _history: EditHistory

    def edit(self, change: Change, *, who: str, why: str) -> Self:
        """Change a line of a CPT, or an edge, and keep a record of it.

        ``network_`` classifies and ``description_`` describes the data. `SetLine` changes one of them, by default the
        first; `SetParent` changes both. Predictions, queries, plots and exports follow at once. The record is part of
        the model file, and `undo` works after loading, too. Another fit starts from the data again and forgets it.

        Parameters
        ----------
        change : SetLine or SetParent
        who, why : str
            For the record.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import SetParent, TANClassifier
        >>> clf = TANClassifier("chow-liu", "ml").fit(*load_iris(return_X_y=True))
        >>> clf.edit(SetParent(1), who="Ada", why="sepal width is measured badly").edits_[0]["what"]
        'extra parent of x1 removed'
        >>> clf.undo().edits_
        []
        """
        check_is_fitted(self)
        if not isinstance(change, (SetLine, SetParent)):
            raise ValueError(f"change must be a SetLine or a SetParent, got {change!r}")
        for name, text in (("who", who), ("why", why)):
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{name} must be a text for the record, got {text!r}")
        self._check_knowledge_of(change)
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        clf: Any = self
        made = Edit(now, who, why, change.said(clf.encoder_), change)
        history = self._edit_history()
        edited = change.apply(self._editable(), clf.encoder_, clf.classes_)
        self._take(edited, history._replace(edits=(*history.edits, made)))
        return self

    def undo(self) -> Self:
        """Take back the last change; the classifier is then what it was before, to the last bit.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        history, clf = self._edit_history(), self.__dict__
        if not history.edits:
            raise ValueError("there is nothing to undo")
        edits, state = history.edits[:-1], history.before
        for each in edits:
            state = each.change.apply(state, clf["encoder_"], clf["classes_"])
        self._take(state, history._replace(edits=edits))
        return self

    @property
    def edits_(self) -> list[dict[str, str]]:
        """Changes by hand since the fit: when, who, what and why, the oldest first."""
        check_is_fitted(self)
        return [each.to_dict() for each in self._edit_history().edits]

    def _edit_history(self) -> EditHistory:
        clf: Any = self
        return getattr(self, "_history", None) or EditHistory((), self._editable(), {"parent_path_": clf.parent_path_})

    def _editable(self) -> Editable:
        clf: Any = self
        return Editable(clf.network_, clf.description_, clf._distribution, clf._findings)

    def _take(self, state: Editable, history: EditHistory) -> None:
        """Take over changed networks at once; prediction sets were made for other probabilities."""
        is_same = state.distribution is history.before.distribution
        path = history.records["parent_path_"] if is_same else _closed_path(state)
        changed = {
            "network_": state.network,
            "description_": state.description,
            "_distribution": state.distribution,
            "_findings": state.findings,
            "parent_path_": path,
            "_history": history,
        }
        self.__dict__ = {**{name: each for name, each in vars(self).items() if name != "conformal_"}, **changed}

    def _check_knowledge_of(self, change: Change) -> None:
        """Refuse changes that the options of the classifier rule out."""
        clf: Any = self
        if clf.monotonic_cst is not None and getattr(change, "network", "") != "description":
            raise ValueError(
                "an edit could break monotonic_cst, which holds exactly: edit the description, or fit again without it"
            )
        if isinstance(change, SetParent):
            encoder = clf.encoder_
            rules = edge_rules(clf, ColumnNames(encoder.names and list(encoder.names), len(encoder.columns)))
            if rules is not None:
                state = change.apply(self._editable(), encoder, clf.classes_)
                rules.check(state.network.extra_parents, "the edited structure")


def _closed_path(state: Editable) -> dict[str, Any]:
    """The record of no search."""
    return ParentPath().to_arrays(state.distribution.parent_sets)
