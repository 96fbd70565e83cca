# SPDX-License-Identifier: BSD-2-Clause
"""The docstrings of constants that a module imports, which autodoc finds only in the module that defines them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

__all__ = ["setup"]


def _add_docstring(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Replace the lines of a constant, which otherwise are the docstring of its class."""
    del app, options
    if what == "data":
        lines[:] = next(_docstrings(name, value), [])


def _docstrings(name: str, value: Any) -> Iterator[list[str]]:
    """The docstrings that follow the definitions of a constant in the package of `name`."""
    module, _, short = name.rpartition(".")
    for found in sorted(each for each in sys.modules if f"{each}.".startswith(f"{module}.")):
        if getattr(sys.modules[found], short, None) is value:
            comments = ModuleAnalyzer.for_module(found).find_attr_docs()
            if ("", short) in comments:
                yield comments["", short]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", _add_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
