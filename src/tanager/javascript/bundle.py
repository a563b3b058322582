"""Several small JavaScript modules as one script, for a page or a module that is a single file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources

_MODULES = ("cells", "networks", "classifier")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class) )", re.MULTILINE)


def bundle(modules: Iterable[str]) -> str:
    """Join the texts of modules, each after those that it imports, in one scope.

    Import statements, which start a line, are left out, and so is the word "export" before a definition.

    >>> bundle(["export const a = 1;\\n", 'import { a } from "./a.js";\\nconst b = a;\\n'])
    'const a = 1;\\n\\nconst b = a;\\n'
    """
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in modules)


def classifier_modules() -> list[str]:
    """The texts of the modules that predict, in the order in which they import each other."""
    folder = resources.files("tanager.javascript") / "modules"
    return [(folder / f"{name}.js").read_text(encoding="utf-8") for name in _MODULES]
