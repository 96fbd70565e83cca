# SPDX-License-Identifier: BSD-2-Clause
"""Runs a notebook without Jupyter: ``python tests/support/notebook.py FILE`` writes the outputs of its cells."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

FORMATS = {"image/svg+xml": "_repr_svg_", "text/html": "_repr_html_"}
"""The methods of an object from which Jupyter takes what it shows, besides its `repr`."""


def lines(text: str) -> list[str]:
    """A text as a notebook has it."""
    return text.splitlines(keepends=True)


def outputs_of(source: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell, and return what Jupyter would store: its printed text, and the value of its last expression."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    value, outputs, printed = None, list[dict[str, Any]](), io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(last, f"cell {number}", "eval"), names)
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        data = {form: getattr(value, method)() for form, method in FORMATS.items() if hasattr(value, method)}
        # The repr of a table or a DFA would be one line of a thousand characters.
        data["text/plain"] = str(value) if data else repr(value)
        shown = {form: lines(text) for form, text in sorted(data.items())}
        outputs.append({"data": shown, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells, which are run in order."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell = cell | {"execution_count": number, "outputs": outputs_of("".join(cell["source"]), number, names)}
        cells.append(cell)
    return notebook | {"cells": cells}


def written(notebook: dict[str, Any]) -> str:
    """The text of the file."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(executed(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
