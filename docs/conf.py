# SPDX-License-Identifier: BSD-2-Clause
"""The configuration of the documentation site: `sphinx-build -W --keep-going -b html docs SITE`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from utf8fpga import __version__

_DOCS = Path(__file__).parent
_PROJECT = tomllib.loads((_DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
sys.path.insert(0, str(_DOCS / "extensions"))

project = _PROJECT["name"]
release = version = __version__
author = project_copyright = "the authors of utf8fpga"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
    "attribute_docstrings",
    "command_line",
    "page_head",
    "repository_links",
    "try_page",
]
exclude_patterns = ["extensions", "_static"]

# Markdown: links to headings of other pages, such as verilog.md#ports.
myst_heading_anchors = 3

# Links from a page to a file of the repository: to the page that includes the file, otherwise to this address.
repository_pages = {"README.md": "index", "CHANGELOG.md": "changelog"}
repository_url = _PROJECT.get("urls", {}).get("Repository", "")

# Docstrings: names in backticks are links where the reference has them.
default_role = "py:obj"
smartquotes = False  # They would replace the hyphens and quotes of command lines.
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
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
# The build is the same byte for byte: no dates.
html_last_updated_fmt = None

# The manual page of the command: `sphinx-build -b man docs build/man`.
man_pages: list[tuple[str, str, str, list[str], int]] = [("commands", project, _PROJECT["description"], [], 1)]
today = release  # In place of a date, so that it is the same byte for byte.
