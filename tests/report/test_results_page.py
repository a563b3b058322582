"""The results page from records: figures in their places, and dashes where there are none."""

from tanager.experiments.grids import paper_grid
from tanager.report.results_page import write_results_page
from tests.experiments.inventing import invent


def page_of(records, tmp_path, **options):
    path = tmp_path / "docs" / "results.md"
    write_results_page(records, path, **options)
    return path.read_text(encoding="utf-8")


def test_page_of_an_empty_store(tmp_path):
    page = page_of([], tmp_path)
    assert "| letter | TAN Subset | 8.73 | – | – | 0 / 0 |" in page
    assert page.count("No runs yet.") == 3
    assert "No runs of TAN Subset on letter yet." in page


def test_page_of_results(tmp_path):
    errors = {"nb": 0.13, "random": 0.107, "chow-liu": 0.095, "subset": 0.0884, "all": 0.1}
    records = [invent(paper_grid("letter", method)[0], error, cpu_seconds=25.0) for method, error in errors.items()]
    recovery = paper_grid("letter", "recover")[1]
    records += [
        invent(paper_grid("letter", "nb")[0], 0.2, 0.15, validation_share=0.2),
        invent(paper_grid("letter", "pseudo")[0], 0.0801),
        invent(recovery, 0.17, recovered=(14, 14)),
    ]
    page = page_of(records, tmp_path)
    assert "from 8 stored runs" in page
    assert "| letter | NB | 12.93 | 13.00 | 13.00 | 1 / 1 |" in page
    assert "| letter | TAN Subset | 8.73 | 8.84 | – | 1 / 0 |" in page
    assert "| letter | 4 of 5 within 0.35 points or better | TAN All, +1.24 | yes |" in page
    assert "| letter | pseudo-TAN | 7.98 | 8.01 | – | 1 / 0 |" in page
    assert "| letter | 1 | 0.1 | 0.0003 | 500 | 14 of 14 |" in page
    # All K cost as the one that was run: 15,000 times 25 seconds.
    assert "| the grid | 15,000 of 500 epochs | 104.2 |" in page
    assert "| `--search` | 27 of 55 epochs, 9 of 166 epochs, 3 of 500 epochs | 0.06 |" in page
    assert "Not every K of the grid was run" in page


def test_remarks_and_figures_are_put_in(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "results-notes.md").write_text("By hand.\n")
    figures = [tmp_path / "docs" / "figures" / f"compare-letter.{suffix}" for suffix in ("svg", "png")]
    page = page_of([], tmp_path, figures=figures)
    assert "\n\nBy hand.\n\n" in page
    assert "![compare-letter](figures/compare-letter.svg)" in page
    assert ".png" not in page
