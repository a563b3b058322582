"""Imported at the start of Python by `tests/docs/test_blocks.py`: hides packages that a page does not name."""

import importlib.abc
import os
import sys


class _Hidden(importlib.abc.MetaPathFinder):
    def __init__(self, names):
        self._names = names

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


sys.meta_path.insert(0, _Hidden(frozenset(os.environ.get("TANAGER_HIDDEN_MODULES", "").split(","))))
