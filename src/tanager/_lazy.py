"""Names of a package that are imported when they are asked for, so that nobody waits for what is not used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names live in the modules below it that ``homes`` gives.

    Examples
    --------
    >>> find = lazy_names("tanager", {"ParentSets": "structure"})
    >>> find("ParentSets").__module__
    'tanager.structure.parent_sets'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
