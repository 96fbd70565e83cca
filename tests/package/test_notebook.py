# SPDX-License-Identifier: BSD-2-Clause
"""The notebook: it is valid, and its outputs are what its cells print and show."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from support.notebook import executed, outputs_of, written

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[str]]:
    """For each cell what it shows, as text."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return {
        cell["id"]: ["".join(shown.get("text", ()) or shown["data"]["text/plain"]) for shown in cell["outputs"]]
        for cell in cells
        if cell["cell_type"] == "code"
    }


def test_it_is_valid_and_short() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert len(notebook.cells) <= 12


@pytest.mark.smoke
def test_its_outputs_are_those_of_its_cells() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert written(executed(json.loads(text))) == text, "python tests/support/notebook.py examples/notebook.ipynb"


def test_every_cell_shows_something(outputs: dict[str, list[str]]) -> None:
    assert all(outputs.values())


def test_what_the_text_promises(outputs: dict[str, list[str]]) -> None:
    same, total = outputs["cpython"][0].split()[0:3:2]
    assert same == total == "65656"  # 256 * 256 and, of the text of 15 bytes, 15 * 16 / 2
    assert outputs["simulation"][0].endswith("equal to the model: True\n")
    lengths = [span for line in outputs["chunks"][0].splitlines() for span in line.split("'")[1::2]]
    assert lengths == ["0+4 U+1F600", "4+2 U+FFFD TRUNCATED", "6+1 U+0041", "7+1 U+FFFD INCOMPLETE"]


def test_pictures_and_tables_are_in_it() -> None:
    cells = {cell["id"]: cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
    svg = ElementTree.fromstring("".join(cells["dfa"]["outputs"][0]["data"]["image/svg+xml"]))
    assert svg[0].text == "The minimal DFA of UTF-8"
    for name in ("table", "damaged", "practices"):
        assert "".join(cells[name]["outputs"][0]["data"]["text/html"]).startswith("<table>")


def test_the_runner_keeps_printed_text_and_the_last_value() -> None:
    printed, value = outputs_of("n = 6\nprint('one\\ntwo')\nn * 7", 3, {})
    assert printed == {"name": "stdout", "output_type": "stream", "text": ["one\n", "two\n"]}
    assert (value["data"], value["execution_count"]) == ({"text/plain": ["42"]}, 3)
    assert outputs_of("n = 1", 1, {}) == outputs_of("None", 1, {}) == outputs_of("", 1, {}) == []
