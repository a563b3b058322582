"""What the user knows beforehand, on the command line."""

import numpy as np
import pandas as pd
import pytest

from tanager import SetParent, load


@pytest.fixture
def loans(tmp_path):
    rng = np.random.default_rng(0)
    debt, age = rng.normal(size=300), rng.integers(18, 80, 300)
    size = rng.choice(["S", "M", "L"], 300)
    score = 2 * debt + (size == "L")
    late = np.where(rng.random(300) < 1 / (1 + np.exp(1.5 - score)), "yes", "no")
    path = tmp_path / "loans.csv"
    pd.DataFrame({"debt": debt, "age": age, "size": size, "late": late}).to_csv(path, index=False)
    return path


def fit(call, loans, *options):
    out = loans.with_suffix(".tanager")
    return call("fit", loans, "--target", "late", "--out", out, *options), out


def test_all_of_it_reaches_the_classifier(call, loans):
    result, out = fit(
        call,
        loans,
        *("--class-weight", "yes=2", "--forbid", "age:debt", "--forbid", "debt:age", "--require", "size:debt"),
        *("--monotone", "debt:up", "--cuts", "age:30,60", "--order", "size:S,M,L", "--time-limit", "100"),
    )
    assert result.exit_code == 0, result.output
    clf = load(out)
    assert clf.class_weight == {"yes": 2.0}
    assert clf.forbid == [("age", "debt"), ("debt", "age")]
    assert clf.encoder_.columns[1].cuts.tolist() == [30, 60]
    assert clf.encoder_.value_labels(2) == ["S", "M", "L"]
    assert clf.parents_[0] == 2
    grid = pd.DataFrame({"debt": np.linspace(-3, 3, 50), "age": 40, "size": "M"})
    assert (np.diff(clf.predict_proba(grid)[:, 1]) >= 0).all()


def test_balanced_weights(call, loans):
    result, out = fit(call, loans, "--class-weight", "balanced", "--no-test")
    assert result.exit_code == 0, result.output
    assert load(out).class_weight == "balanced"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--forbid", "age"), "--forbid must have the form PARENT:CHILD, got 'age'"),
        (("--require", "age:debt", "--forbid", "age:debt"), "both forbidden and required"),
        (("--monotone", "debt:rising"), "--monotone must end with :up or :down"),
        (("--monotone", "debt:up", "--parameters", "ml"), "monotonic_cst requires PenalisedLikelihood"),
        (("--cuts", "age:old"), "--cuts must be numbers after the colon"),
        (("--cuts", "age:60,30"), "must be a list of numbers that rise"),
        (("--class-weight", "often"), "--class-weight must be balanced, or CLASS=NUMBER"),
        (("--class-weight", "maybe=2"), "--class-weight: the target has no class 'maybe'"),
        (("--forbid", "age:dept"), "forbid names the column 'dept', which X does not have; did you mean 'debt'?"),
        (("--order", "size:S,M"), "has the value 'L', which its order ['S', 'M'] does not have"),
        (("--time-limit", "0"), "time_limit must be a finite number above 0"),
    ],
)
def test_wrong_options(call, loans, options, message):
    result, out = fit(call, loans, "--no-test", *options)
    assert result.exit_code != 0
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not out.exists()


def test_inspect_shows_the_record_of_changes(call, loans):
    _, out = fit(call, loans, "--no-test", "--structure", "chow-liu", "--parameters", "ml")
    assert "Changes by hand" not in call("inspect", out).stdout
    load(out).edit(SetParent("age"), who="Ada", why="a rule of the bank").save(out)
    shown = " ".join(call("inspect", out).stdout.split())
    assert "Changes by hand" in shown
    assert "Ada" in shown
