"""``python tools/sbom.py [EXTRA...]``: the bill of materials of tanager, CycloneDX 1.5 as JSON.

It lists what is installed here and that tanager requires, directly or not, with the extras that are named; each with
its version, licence and what it requires in its turn. The same environment gives the same text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def requirements_of(package: Distribution, extras: Iterable[str]) -> list[Requirement]:
    """What a package requires on this machine with some extras."""
    wanted = [{"extra": extra} for extra in ("", *extras)]
    parsed = map(Requirement, package.requires or [])
    return [each for each in parsed if each.marker is None or any(map(each.marker.evaluate, wanted))]


def collect(name: str, extras: Iterable[str]) -> dict[str, tuple[Distribution, set[str]]]:
    """All installed packages that one requires, by name, each with the names that it requires itself."""
    found: dict[str, tuple[Distribution, set[str]]] = {}
    waiting = [(canonicalize_name(name), frozenset(extras))]
    seen = set()
    while waiting:
        name, own = waiting.pop()
        if (name, own) in seen:
            continue
        seen.add((name, own))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        needed = {(canonicalize_name(each.name), frozenset(each.extras)) for each in requirements_of(package, own)}
        _, before = found.get(name, (package, set()))
        found[name] = (package, before | {each for each, _ in needed})
        waiting += needed
    return found


def component(package: Distribution, kind: str) -> dict[str, Any]:
    """The entry of one package."""
    name, version = canonicalize_name(package.metadata["Name"]), package.version
    licence = package.metadata.get("License-Expression") or (package.metadata.get("License") or "").split("\n")[0]
    entry = {
        "type": kind,
        "bom-ref": purl(name, version),
        "name": name,
        "version": version,
        "purl": purl(name, version),
    }
    return entry | ({"licenses": [{"license": {"name": licence[:100]}}]} if licence else {})


def purl(name: str, version: str) -> str:
    """Address of a package: pkg:pypi/numpy@2.0.0."""
    return f"pkg:pypi/{name}@{version}"


def bill(name: str, extras: Iterable[str]) -> dict[str, Any]:
    """The whole document."""
    found = collect(name, extras)
    if name not in found:
        sys.exit(f"error: {name} is not installed here")
    address = {each: purl(each, package.version) for each, (package, _) in found.items()}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(found[name][0], "application")},
        "components": [component(found[each][0], "library") for each in sorted(found) if each != name],
        "dependencies": [
            {"ref": address[each], "dependsOn": sorted(address[other] for other in found[each][1] if other in address)}
            for each in sorted(found)
        ],
    }


if __name__ == "__main__":
    print(json.dumps(bill("tanager", sys.argv[1:]), indent=1))
