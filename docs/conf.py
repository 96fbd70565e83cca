# SPDX-License-Identifier: BSD-2-Clause
"""The configuration of the documentation site: `sphinx-build -W --keep-going -b html docs SITE`."""

from __future__ import annotations

import sys
from pathlib import Path

from utf8fpga import __version__

_DOCS = Path(__file__).parent
sys.path.insert(0, str(_DOCS / "extensions"))

project = "utf8fpga"
release = version = __version__
author = project_copyright = "the authors of utf8fpga"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "attribute_docstrings",
    "command_line",
    "try_data",
]
exclude_patterns = ["extensions", "_static", "experiments.md"]

# Markdown: links to headings, such as verilog.md#the-file, and to files of the repository that are no pages.
# tests/package/test_docs.py checks all of them.
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]

# Docstrings: names in backticks are links where the reference has them.
default_role = "py:obj"
smartquotes = False  # They would replace the hyphens and quotes of command lines.
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "undoc-members": True, "no-value": True}
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Attributes", "params_style"), ("Ports", "params_style"), ("Fields", "params_style")]

# Buttons that copy code: of a session only what is typed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_search_scorer = str(_DOCS / "extensions" / "search_scorer.js")
html_show_copyright = False
