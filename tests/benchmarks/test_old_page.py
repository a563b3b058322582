from benchmarks.old_page import merge_sections, read_sections
from benchmarks.page import write_page
from benchmarks.records import Row, Section, Target

OLD = [
    Section("Step", [Row("a", "1 ms", "torch", "20 ms", 20.0, Target(10.0), "fine")], ["a note"], missing=["lightgbm"]),
    Section(
        "Limit", [Row("b", "2", "limit", "1", 2.0, Target(3.0, at_most=True)), Row("c", "1", "d", "1,234", 1234.0)]
    ),
    Section("Lines", lines=["  one", "  two"]),
]


def test_a_page_can_be_read_back(tmp_path):
    write_page(OLD, "here", "command", tmp_path)
    assert read_sections(tmp_path / "benchmarks.md") == OLD


def test_sections_measured_anew_take_the_place_of_old_ones(tmp_path):
    write_page(OLD, "here", "command", tmp_path)
    new = Section("Limit", [Row("b", "1.5", "limit", "1", 1.5, Target(3.0, at_most=True))])
    merged = merge_sections(read_sections(tmp_path / "benchmarks.md"), [new, Section("Size")])
    assert merged == [OLD[0], new, OLD[2], Section("Size")]


def test_the_page_in_the_documentation_can_be_read():
    from benchmarks.page import DOCS

    sections = read_sections(DOCS / "benchmarks.md")
    assert "Training step" in [section.title for section in sections]
    assert all(row.ratio >= 0 for section in sections for row in section.rows)
