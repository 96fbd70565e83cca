# SPDX-License-Identifier: BSD-2-Clause
"""The docstrings of constants, attributes and properties, which autodoc and Napoleon get wrong.

- A constant that a module imports has its docstring in the module that defines it, where autodoc does not look.
- Napoleon takes what is before a colon for a type. Here types are annotations, so a docstring is text and nothing else.
- The fields of a named tuple have no docstrings; the docstring of the class describes them, under *Attributes*.
"""

from __future__ import annotations

import sys
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

_KINDS = ("attribute", "data", "property")
_BEFORE_NAPOLEON, _AFTER_NAPOLEON = 400, 600

_written: dict[str, list[str]] = {}
"""The lines of docstrings before Napoleon has changed them."""


def _keep(_app: Sphinx, what: str, name: str, value: Any, _options: Any, lines: list[str]) -> None:
    if what == "data":
        lines[:] = _docstring(name, value)
    if what in _KINDS:
        _written[name] = list(lines)


def _restore(_app: Sphinx, what: str, name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    if what in _KINDS:
        lines[:] = _written.pop(name)


def _docstring(name: str, value: Any) -> list[str]:
    """The docstring that follows the definition of a constant in a module of the package of `name`."""
    package, _, short = name.rpartition(".")
    for module in sorted(each for each in sys.modules if f"{each}.".startswith(f"{package}.")):
        if getattr(sys.modules[module], short, None) is value:
            comments = ModuleAnalyzer.for_module(module).find_attr_docs()
            if ("", short) in comments:
                return list(comments["", short])
    return []


def _skip(_app: Sphinx, _what: str, _name: str, value: Any, _skip: bool, _options: Any) -> bool | None:
    return True if (value.__doc__ or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", _keep, priority=_BEFORE_NAPOLEON)
    app.connect("autodoc-process-docstring", _restore, priority=_AFTER_NAPOLEON)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
