# SPDX-License-Identifier: BSD-2-Clause
"""The docstrings of constants, attributes and properties.

- A constant that a module imports has a docstring only in the module that defines it, where autodoc does not look.
- Napoleon takes what is before a colon for a type. Here types are annotations, so a docstring is text and nothing else.
- The fields of a named tuple have no docstrings; the docstring of the class describes them, under *Attributes*.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

_KINDS = ("attribute", "data", "property")
_BEFORE_NAPOLEON, _AFTER_NAPOLEON = 400, 600

_written: dict[str, list[str]] = {}
"""The lines of docstrings before Napoleon has changed them."""


def _keep(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Keep the lines; those of a constant otherwise are the docstring of its class."""
    del app, options
    if what == "data":
        lines[:] = next(_docstrings(name, value), [])
    if what in _KINDS:
        _written[name] = list(lines)


def _restore(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    del app, value, options
    if what in _KINDS:
        lines[:] = _written.pop(name)


def _docstrings(name: str, value: Any) -> Iterator[list[str]]:
    """The docstrings that follow the definitions of a constant in the package of `name`."""
    module, _, short = name.rpartition(".")
    for found in sorted(each for each in sys.modules if f"{each}.".startswith(f"{module}.")):
        if getattr(sys.modules[found], short, None) is value:
            comments = ModuleAnalyzer.for_module(found).find_attr_docs()
            if ("", short) in comments:
                yield comments["", short]


def _skip(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples."""
    del app, what, name, skip, options
    return True if (value.__doc__ or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", _keep, priority=_BEFORE_NAPOLEON)
    app.connect("autodoc-process-docstring", _restore, priority=_AFTER_NAPOLEON)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
