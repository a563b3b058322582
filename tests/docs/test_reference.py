"""The reference names what can be imported, and all that `tanager` offers."""

import re
from importlib import import_module
from pathlib import Path

import tanager

REFERENCE = Path(__file__).parents[2] / "docs" / "api.rst"
NAMED = re.findall(r"^   (tanager\.[\w.]+)$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)


def test_all_that_tanager_offers_is_in_the_reference():
    offered = {f"tanager.{name}" for name in tanager.__all__ if not name.startswith("_")}
    assert offered <= set(NAMED)


def test_all_that_the_reference_names_is_there():
    for path in NAMED:
        module, name = path.rsplit(".", 1)
        assert hasattr(import_module(module), name), path
