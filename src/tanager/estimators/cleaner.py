"""A transformer for tables as people keep them, to stand before a classifier in a pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tanager._options import check_choice
from tanager.data.cleaning import LEFT_OUT, ColumnPlan
from tanager.data.tidying import plan_frame, tidy_frame


class TableCleaner(TransformerMixin, BaseEstimator):
    """Read the columns of a frame as a person would.

    Text such as ``44,364.85``, ``1.9 %`` or ``EUR 284,68`` becomes numbers. Dates become the number of days, the month,
    the weekday and the hour, as far as these differ. ``yes``, ``Yes`` and ``Y`` become one value, and so do words that
    differ only in case or space. Identifiers, constants, row numbers and free text are left out, with a warning.
    `tanager fit` does the same by itself.

    Parameters
    ----------
    decimal : {None, ".", ","}, default=None
        Sign before the decimals of numbers in text. None finds it for each column.
    day_first : bool or None, default=None
        Whether the day comes before the month in dates such as 3/11/2026. None finds it for each column.
    as_is : sequence of str, default=()
        Names of columns to leave alone.

    Attributes
    ----------
    plans_ : list of ColumnPlan
        What is done with each column.
    notes_ : list of str
        The same in sentences, for the columns that are not taken as they are, then doubts about the classes: columns
        that give the class away, and classes that differ only in case or space.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> import pandas as pd
    >>> paid = ["2026-01-02", "2026-01-05", "2026-11-17"]
    >>> frame = pd.DataFrame({"price": ["EUR 1.284,68", "EUR 3,50", "n/a"], "paid": paid})
    >>> cleaner = TableCleaner().fit(frame)
    >>> cleaner.notes_[0]
    "column 'price' read as numbers: 'EUR 1.284,68' is 1284.68; 'n/a' is missing"
    >>> cleaner.transform(frame).columns.tolist()
    ['price', 'paid: days', 'paid: month', 'paid: weekday']
    """

    plans_: list[ColumnPlan]
    notes_: list[str]

    def __init__(self, *, decimal: str | None = None, day_first: bool | None = None, as_is: Sequence[str] = ()) -> None:
        self.decimal = decimal
        self.day_first = day_first
        self.as_is = as_is

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out what to do with each column.

        Parameters
        ----------
        X : pandas, polars or Arrow frame
        y : array-like of shape (N,), optional
            Classes; with them, columns that give the class away are found.

        Returns
        -------
        self
        """
        check_choice("decimal", self.decimal, (None, ".", ","))
        check_choice("day_first", self.day_first, (None, True, False))
        plans, notes = plan_frame(X, y, decimal=self.decimal, day_first=self.day_first, as_is=self.as_is)
        self.plans_, self.notes_ = plans, notes
        self.n_features_in_ = len(plans)
        self.feature_names_in_ = np.array([plan.name for plan in plans], dtype=object)
        left_out = [f"column {plan.name!r} {plan.note}" for plan in plans if plan.kind == LEFT_OUT]
        if left_out:
            warnings.warn("; ".join(left_out) + " (as_is keeps a column)", stacklevel=2)
        return self

    def transform(self, X: Any) -> Any:
        """The frame that the plans make, of the library of X.

        A cell that cannot be read as its column is an error that names the column and the cell.
        """
        check_is_fitted(self)
        names = list(X.column_names if hasattr(X, "column_names") else getattr(X, "columns", []))
        absent = [plan.name for plan in self.plans_ if plan.made and plan.name not in names]
        if absent:
            raise ValueError(f"X lacks the column {absent[0]!r}; its columns are {names}")
        return tidy_frame(X, self.plans_)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns that come out."""
        check_is_fitted(self)
        return np.array([name for plan in self.plans_ for name in plan.made], dtype=object)
