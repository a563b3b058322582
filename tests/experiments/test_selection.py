"""Table 1 from records: selection on test as in the paper, selection on validation fold by fold."""

import itertools

import pytest

from tanager.experiments.grids import paper_grid
from tanager.experiments.selection import PAPER_ERRORS, Results, order_holds
from tests.experiments.inventing import invent

NB = paper_grid("letter", "nb")
SATIMAGE = paper_grid("satimage", "nb")


def cell_of(records, dataset="letter", method="nb"):
    return Results(records).cell(dataset, method)


def test_paper_figures_are_those_of_table_1():
    assert PAPER_ERRORS["letter", "subset"] == 8.73
    assert PAPER_ERRORS["satimage", "all"] == 9.39
    assert PAPER_ERRORS["usps", "heuristic"] == 2.27
    assert PAPER_ERRORS["mnist", "chow-liu-ml"] == 7.03
    assert ("mnist", "all") not in PAPER_ERRORS
    assert ("letter", "heuristic") not in PAPER_ERRORS
    assert len(PAPER_ERRORS) == 4 * 7 + 1


def test_selected_on_test_is_the_least_of_runs_on_all_rows():
    records = [
        invent(NB[0], 0.13),
        invent(NB[1], 0.12),
        invent(NB[2], 0.05, 0.1, validation_share=0.2),
    ]
    cell = cell_of(records)
    assert (cell.paper, cell.on_test, cell.n_tested) == (12.93, pytest.approx(12.0), 2)
    assert cell.best == NB[1]
    assert cell.gap == pytest.approx(12.0 - 12.93)


def test_selected_on_validation_reports_the_run_on_all_rows():
    records = [
        invent(NB[0], 0.13),
        invent(NB[1], 0.12),
        invent(NB[0], 0.15, 0.10, validation_share=0.2),
        invent(NB[1], 0.14, 0.11, validation_share=0.2),
    ]
    cell = cell_of(records)
    assert cell.on_test == pytest.approx(12.0)
    assert cell.on_validation == pytest.approx(13.0)
    assert (cell.n_tested, cell.n_validated) == (2, 2)
    assert cell.optimism == pytest.approx(1.0)


def test_only_configurations_with_both_runs_are_selected_on_validation():
    records = [
        invent(NB[0], 0.13),
        invent(NB[0], 0.15, 0.10, validation_share=0.2),
        invent(NB[1], 0.14, 0.05, validation_share=0.2),
        invent(NB[2], 0.01),
    ]
    cell = cell_of(records)
    assert cell.on_validation == pytest.approx(13.0)
    assert cell.n_validated == 2
    # The run without held-out rows has a lower error, but nothing was chosen among the others.
    assert cell.optimism is None
    assert cell_of(records[2:]).on_validation is None


def test_folds_are_averaged_and_must_be_complete():
    records = [invent(SATIMAGE[0], fold / 100, fold=fold) for fold in range(1, 6)]
    assert cell_of(records, "satimage").on_test == pytest.approx(3.0)
    assert cell_of(records[:4], "satimage").on_test is None
    assert Results(records[:4]).points("satimage", "nb") == []


def test_folds_choose_for_themselves_on_validation():
    records = []
    for fold, number in itertools.product(range(1, 6), (0, 1)):
        # Configuration 0 validates best in folds 1 to 3, configuration 1 in the others.
        is_better = (fold <= 3) == (number == 0)
        records.append(invent(SATIMAGE[number], 0.10 + number / 10, fold=fold))
        held = invent(SATIMAGE[number], 0.5, 0.1 if is_better else 0.2, fold=fold, validation_share=0.2)
        records.append(held)
    cell = cell_of(records, "satimage")
    assert cell.on_test == pytest.approx(10.0)
    assert cell.on_validation == pytest.approx((3 * 10 + 2 * 20) / 5)
    assert cell.optimism == pytest.approx(4.0)


def test_order_of_records_does_not_matter():
    records = [invent(spec, 0.1 + k / 100) for k, spec in enumerate(NB[:5])]
    records += [invent(spec, 0.3, 0.2, validation_share=0.2) for spec in NB[:5]]
    assert cell_of(records) == cell_of(records[::-1])


def test_closed_form_needs_no_validation():
    record = invent(paper_grid("letter", "nb-ml")[0], 0.2589)
    cell = cell_of([record], method="nb-ml")
    assert (cell.on_test, cell.on_validation) == (pytest.approx(25.89), pytest.approx(25.89))


def test_table_has_the_paper_and_what_was_run_besides():
    empty = Results([]).table()
    assert [cell.dataset for cell in empty[:7]] == ["letter"] * 7
    assert len(empty) == 4 * 7
    assert {cell.on_test for cell in empty} == {None}
    digits = Results([invent(paper_grid("digits", "nb")[0], 0.1)]).table()
    assert len(digits) == 4 * 7 + 8
    assert {cell.dataset for cell in Results([]).table(["usps"])} == {"usps"}


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ((12, 10, 9, 8), True),
        ((12, 10, 9, 9.5), False),
        ((9.5, 10, 9, 8), False),
        ((12, 8.5, 9, 8), True),
        ((12, 10, 9, None), None),
    ],
)
def test_order_of_the_methods(errors, expected):
    methods = ("nb", "random", "chow-liu", "subset")
    records = [
        invent(paper_grid("letter", method)[0], error / 100)
        for method, error in zip(methods, errors, strict=True)
        if error is not None
    ]
    assert order_holds(Results(records).table(), "letter") is expected


def test_a_point_is_an_experiment_with_its_better_learning_rate():
    slow, fast = NB[0], NB[1]
    assert slow.experiment == fast.experiment
    assert slow.experiment != NB[2].experiment
    results = Results([invent(slow, 0.2), invent(fast, 0.13), invent(NB[2], 0.15)])
    assert [(point.spec, round(point.error, 6)) for point in results.points("letter", "nb")] == [
        (fast, 13.0),
        (NB[2], 15.0),
    ]
    assert results.cell("letter", "nb").n_tested == 3


def test_the_lowest_seed_stands_for_a_configuration():
    results = Results([invent(NB[0], 0.13, seed=seed) if seed else invent(NB[0], 0.14) for seed in range(3)])
    cell = results.cell("letter", "nb")
    assert (cell.on_test, cell.n_tested) == (pytest.approx(14.0), 1)
    assert results.errors_by_seed(NB[0]) == pytest.approx({0: 14.0, 1: 13.0, 2: 13.0})
    assert results.errors_by_seed(NB[1]) == {}


def test_seeds_need_all_folds():
    records = [invent(SATIMAGE[0], fold / 100, fold=fold, seed=seed) for seed in (3, 4) for fold in range(1, 6)]
    assert Results(records[:9]).errors_by_seed(SATIMAGE[0]) == pytest.approx({3: 3.0})
