"""``python -m tests.goldens.record [--write]``: compare bit by bit with the recorded predictions, or record anew."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tests.goldens.cases import NAMES, predict_case

RECORDED = Path(__file__).with_name("predictions.npz")


def main() -> None:
    """Say which predictions differ, and by how much."""
    parser = argparse.ArgumentParser(prog="python -m tests.goldens.record", description=__doc__)
    parser.add_argument("--write", action="store_true", help="record what is predicted now")
    options = parser.parse_args()
    found = {name: predict_case(name) for name in NAMES}
    if options.write:
        np.savez_compressed(RECORDED, **found)
        print(f"{len(found)} cases written to {RECORDED}")
        return
    with np.load(RECORDED) as recorded:
        known = [name for name in NAMES if name in recorded]
        differing = [name for name in known if not np.array_equal(found[name], recorded[name])]
        for name in differing:
            print(f"{name}: differs by up to {np.abs(found[name] - recorded[name]).max():.2g}")
        print(f"{len(known) - len(differing)} of {len(NAMES)} cases are equal to the last bit")
        print(f"not recorded yet: {', '.join(set(NAMES) - set(known)) or 'none'}")


if __name__ == "__main__":
    main()
