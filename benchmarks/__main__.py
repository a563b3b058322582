"""``python -m benchmarks [steps] [start]``: measure speed against what users could pick instead.

Times are compared as ratios within one run; they depend on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform

_SECTIONS = ("steps", "start")


def main() -> None:
    """Run the sections asked for, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*_SECTIONS, []], help="what to measure; default is everything")
    asked = parser.parse_args().sections or _SECTIONS
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for section in asked:
        for line in importlib.import_module(f"benchmarks.{section}").run():
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
