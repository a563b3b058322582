"""The results page from records: figures in their places, and dashes where there are none."""

from tanager.experiments.grids import best_published, paper_grid, sample_grid
from tanager.experiments.selection import Results
from tanager.report.results_page import write_results_page
from tests.experiments.inventing import invent


def page_of(records, tmp_path, **options):
    path = tmp_path / "docs" / "results.md"
    write_results_page(Results(records), path, **options)
    return path.read_text(encoding="utf-8")


def test_page_of_an_empty_store(tmp_path):
    page = page_of([], tmp_path)
    assert "| letter | TAN Subset | 8.73 | – | – | – | 0 / 0 of 15,000 |" in page
    assert "| letter | Chow-Liu | 9.37 | – | 0 of 600 | – | too few runs |" in page
    assert page.count("No runs yet.") == 4
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
    assert "from 8 runs (0.0 core-hours)" in page
    assert "| letter | NB | 12.93 | 13.00 | 13.00 | – | 1 / 1 of 1,000 |" in page
    assert "| letter | TAN Subset | 8.73 | 8.84 | – | – | 1 / 0 of 15,000 |" in page
    assert "| letter | 4 of 5 within 0.35 points or better | TAN All, +1.24 | yes |" in page
    assert "| letter | pseudo-TAN | 7.98 | 8.01 | – | – | 1 / 0 of 3,200 |" in page
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


def test_evenly_drawn_experiments_are_extrapolated(tmp_path):
    specs = sample_grid(paper_grid("letter", "chow-liu"), 60)
    page = page_of([invent(spec, 0.1 + number / 1000) for number, spec in enumerate(specs)], tmp_path)
    (line,) = [
        line for line in page.splitlines() if line.startswith("| letter | Chow-Liu | 9.37 | 10.00 | 30 of 600 |")
    ]
    assert line.endswith("| within |") or line.endswith("| below |")


def test_seeds_of_the_best_configurations(tmp_path):
    spec = best_published("usps", "subset")[1]
    page = page_of([invent(spec, 0.02 + seed / 1000, seed=seed) for seed in range(3)], tmp_path)
    assert "| usps | TAN Subset | 0.03 | 2.10 | 2.10 | 2.00, 2.10, 2.20 |" in page


def test_figures_come_with_what_they_show(tmp_path):
    records = [invent(spec, 0.10) for spec in sample_grid(paper_grid("letter", "chow-liu"), 60)]
    records += [invent(spec, 0.09) for spec in sample_grid(paper_grid("letter", "subset"), 60)]
    figures = [tmp_path / "docs" / "figures" / "compare-letter.svg"]
    page = page_of(records, tmp_path, figures=figures)
    assert "TAN Subset has the lower error than Chow-Liu in 100% of 30 experiments" in page
