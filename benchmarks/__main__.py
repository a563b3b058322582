"""``python -m benchmarks [section ...]``: compare the speed of this library with the alternatives.

Without sections, everything is measured and the page ``docs/benchmarks.md`` is written with its picture. With sections,
the results are only printed, unless ``--write`` writes a page of these sections alone or ``--update`` replaces them in
the page there is. Times are compared as ratios within one run; they depend on the machine and its load. Set
TANAGER_DATA to the folder of the discretised data sets to get errors beside the times.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from benchmarks import machine
from benchmarks.old_page import merge_sections, read_sections
from benchmarks.page import DOCS, write_page
from benchmarks.records import Section

SECTIONS = (
    "start",
    "fits",
    "steps",
    "letter",
    "threads",
    "chow_liu",
    "predict",
    "growth",
    "limits",
    "discretise",
    "memory",
    "words",
    "sizes",
)


def measure(name: str) -> Section:
    """Run one section."""
    return importlib.import_module(f"benchmarks.{name}").run()


def main(arguments: list[str] | None = None) -> None:
    """Run the given sections, by default all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md with the given sections alone")
    parser.add_argument(
        "--update", action="store_true", help="replace the given sections in docs/benchmarks.md and keep the others"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to a file")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.sections) - set(SECTIONS))
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    about = f"{machine.describe()}; load at the start {machine.load()}"
    print(about, flush=True)
    sections = []
    for name in options.sections or SECTIONS:
        section = measure(name)
        sections.append(section)
        print("\n".join(["", *section.text()]), flush=True)
    if options.json:
        record = {"machine": about, "sections": [section.as_dict() for section in sections]}
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    command = " ".join(["python -m benchmarks", *options.sections])
    if options.update:
        merged = merge_sections(read_sections(DOCS / "benchmarks.md"), sections)
        write_page(merged, about, f"{command} --update, the other sections by earlier runs")
    elif options.write or not options.sections:
        write_page(sections, about, command)


if __name__ == "__main__":
    main()
