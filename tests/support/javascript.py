# SPDX-License-Identifier: BSD-2-Clause
"""The scripts of the page "Try it in the browser" in V8, without a document."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "docs" / "_static" / "try"
LOGIC = ("decoder.js", "text.js", "circuit.js", "stream.js", "waveform.js")
"""The scripts that need no document, in the order in which the page loads them."""


def extension(name: str) -> ModuleType:
    """A module of ``docs/extensions``; without Sphinx, the tests that need it are skipped."""
    pytest.importorskip("sphinx", reason="requires the extra 'docs'")
    folder = str(CHECKOUT / "docs" / "extensions")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


class Page:
    """The scripts of the page, with the generated data.

    `close` must be called: the process does not end while an engine is open.

    Args:
        data: the script with the data; default: without netlists, which take seconds to make.
        replaced: for the name of a script two texts, of which the second one replaces the first.
    """

    def __init__(self, data: str | None = None, **replaced: tuple[str, str]) -> None:
        self._engine = pytest.importorskip("py_mini_racer", reason="requires the extra 'dev'").MiniRacer()
        self._engine.eval(extension("try_data").script([]) if data is None else data)
        for name in LOGIC:
            text = (FOLDER / name).read_text(encoding="utf-8")
            old, new = replaced.get(name.removesuffix(".js"), ("", ""))
            assert old in text
            self._engine.eval(text.replace(old, new))

    def close(self) -> None:
        """End the engine."""
        self._engine.close()

    def __call__(self, expression: str, **values: Any) -> Any:
        """The value of an expression with `values` as constants."""
        names, given = ", ".join(values), ", ".join(json.dumps(value) for value in values.values())
        return json.loads(self._engine.eval(f"JSON.stringify((({names}) => ({expression}))({given}))"))

    def define(self, declarations: str) -> None:
        """Evaluate declarations for the expressions that follow."""
        self._engine.eval(declarations)
