"""``python tools/audit.py REQUIREMENTS``: look for known vulnerabilities of pinned packages.

pip-audit asks the package index, and passes over packages that the index says nothing about: behind a mirror without
advisories it would find nothing wrong with any package. Here a package that could not be looked up is a failure.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_OPTIONS = ("--progress-spinner", "off", "--require-hashes", "--disable-pip", "--format", "json")


def main(requirements: str) -> None:
    """Run pip-audit beside this Python and judge its answer."""
    command = [Path(sys.executable).parent / "pip-audit", *_OPTIONS, "--requirement", requirements]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit("error: pip-audit is not installed: run `make audit`, which installs it.")
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
        sys.exit(f"error: {requirements} could not be audited: {last}\nCheck the network, and run it again.")
    print(verdict(found))


def verdict(packages: list[dict[str, Any]]) -> str:
    """One sentence where all were looked up and none is vulnerable; otherwise exit with what is wrong."""
    skipped = [each["name"] for each in packages if "skip_reason" in each]
    faults = [
        f"{each['name']} {each['version']}: {fault['id']}, fixed in {', '.join(fault['fix_versions']) or 'none yet'}"
        for each in packages
        for fault in each.get("vulns", [])
    ]
    if skipped:
        faults.append(
            f"{len(skipped)} of {len(packages)} packages could not be looked up, among them {skipped[0]}: the package "
            "index has no advisories. Run it where pypi.org can be reached."
        )
    if faults:
        sys.exit("\n".join(f"error: {fault}" for fault in faults))
    return f"{len(packages)} packages looked up, no known vulnerability"


if __name__ == "__main__":
    main(sys.argv[1])
