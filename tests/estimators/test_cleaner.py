"""The transformer before a classifier."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from tanager import TableCleaner, TANClassifier
from tests.messy_table import make_tables


@pytest.mark.filterwarnings("ignore:column 'customer' left out")
def test_the_messy_table_is_learned_as_well_as_the_clean_one():
    clean, messy, y = make_tables()
    clf = TANClassifier(random_state=0)
    clean_error = 1 - cross_val_score(clf, clean, y, cv=3).mean()
    messy_error = 1 - cross_val_score(make_pipeline(TableCleaner(), clf), messy, y, cv=3).mean()
    assert messy_error <= 1.1 * clean_error


def test_what_is_left_out_is_a_warning():
    frame = pd.DataFrame({"row": np.arange(30), "x": np.arange(30) % 4})
    with pytest.warns(UserWarning, match=r"column 'row' left out: it numbers the rows \(as_is keeps a column\)"):
        cleaner = TableCleaner().fit(frame)
    assert cleaner.get_feature_names_out().tolist() == ["x"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = TableCleaner(as_is=["row"]).fit(frame)
    assert kept.transform(frame).columns.tolist() == ["row", "x"]


def test_options():
    frame = pd.DataFrame({"a": ["1,234", "5,678"], "d": ["1/2/2026", "2/2/2026"]})
    assert TableCleaner(decimal=",").fit(frame).transform(frame)["a"].tolist() == [1.234, 5.678]
    assert TableCleaner().fit(frame).transform(frame)["a"].tolist() == [1234, 5678]
    assert "d: month" in TableCleaner(day_first=False).fit(frame).transform(frame)
    assert "d: month" not in TableCleaner(day_first=True).fit(frame).transform(frame)
    with pytest.raises(ValueError, match=r"decimal must be None, .* or .*, got"):
        TableCleaner(decimal=";").fit(frame)
    assert clone(TableCleaner(decimal=",")).decimal == ","


def test_a_column_that_is_absent():
    cleaner = TableCleaner().fit(pd.DataFrame({"a": [1, 2, 2], "b": ["u", "v", "w"]}))
    with pytest.raises(ValueError, match="X lacks the column 'b'"):
        cleaner.transform(pd.DataFrame({"a": [1]}))
