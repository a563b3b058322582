"""Sphinx configuration: `make docs` builds the site into docs/_build/html."""

import os
import warnings

import tanager

project = "Tanager"
author = "The Tanager developers"
copyright = author
release = tanager.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax as part of the site: formulas need no network
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "results-notes.md", "beyond-notes.md", "**/README.rst"]
# The estimators inherit docstrings from scikit-learn that refer to pages of its site. Estimators for Dask have the
# names of the others; where a docstring means either, the first is linked.
suppress_warnings = ["config.cache", "ref.ref", "ref.python"]
nitpicky = False

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
autosummary_generate = True

# Fetch other projects' inventories only on request, so that the site builds offline.
intersphinx_mapping = (
    {
        "numpy": ("https://numpy.org/doc/stable/", None),
        "python": ("https://docs.python.org/3/", None),
        "sklearn": ("https://scikit-learn.org/stable/", None),
    }
    if os.environ.get("TANAGER_DOCS_ONLINE")
    else {}
)

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/[a-z_]+\.py$",
    "within_subsection_order": "ExampleTitleSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "abort_on_example_error": True,
    "copyfile_regex": r".*\.csv",
}
warnings.filterwarnings("ignore", message=".*non-interactive.*")

html_theme = "furo"
html_title = f"Tanager {release}"
html_static_path = ["_static"]
