"""Sphinx configuration. Built with ``-n -W``: an unknown reference or a warning is a failure."""

from __future__ import annotations

import cugraphmodel

project = "cugraphmodel"
author = "The cugraphmodel authors"
version = release = cugraphmodel.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"cugraphmodel {release}"
exclude_patterns = ["_build"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
# Names of other projects, which a build without a network cannot look up, and internal ones.
nitpick_ignore_regex = [
    ("py:.*", r"(collections|np|npt|numpy|onnx|os|threading|types|typing)\..*"),
    ("py:.*", r"cugraphmodel\.(executors|front|graph_model|ir|plan)\..*"),
    ("py:.*", r"(Array|Device|Executable|Inputs|ModelSource|Plan|Progress|SourceModel|optional)"),
]
