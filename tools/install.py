"""``python tools/install.py REQUIREMENT...``: pip install, which says in one sentence that a package cannot be had."""

from __future__ import annotations

import re
import subprocess
import sys


def main(arguments: list[str]) -> None:
    """Install quietly; what pip has to say is shown where it fails for any other reason."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        return
    missing = re.findall(r"No matching distribution found for ([^\s;]+)", done.stdout)
    if missing:
        sys.exit(
            f"error: pip cannot get {missing[-1]}, which tanager needs here: check the network, and the package index "
            "that `pip config list` shows."
        )
    sys.exit(done.stdout + f"error: pip could not install {' '.join(arguments)}; see above.")


if __name__ == "__main__":
    main(sys.argv[1:])
