# SPDX-License-Identifier: BSD-2-Clause
"""Tables and DFAs as JSON, and the picture of that of UTF-8."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest

from utf8fpga.model import DFA, START, TABLE_3_7, Range
from utf8fpga.model.render import render

CHECKOUT = Path(__file__).parents[2]

EDGES = {
    ("start", "done", "00..7F"),
    ("start", "80..BF", "C2..DF"),
    ("start", "A0..BF 80..BF", "E0"),
    ("start", "80..BF 80..BF", "E1..EC EE..EF"),
    ("start", "80..9F 80..BF", "ED"),
    ("start", "90..BF 80..BF 80..BF", "F0"),
    ("start", "80..BF 80..BF 80..BF", "F1..F3"),
    ("start", "80..8F 80..BF 80..BF", "F4"),
    ("A0..BF 80..BF", "80..BF", "A0..BF"),
    ("80..BF 80..BF", "80..BF", "80..BF"),
    ("80..9F 80..BF", "80..BF", "80..9F"),
    ("90..BF 80..BF 80..BF", "80..BF 80..BF", "90..BF"),
    ("80..BF 80..BF 80..BF", "80..BF 80..BF", "80..BF"),
    ("80..8F 80..BF 80..BF", "80..BF 80..BF", "80..8F"),
    ("80..BF", "done", "80..BF"),
}
"""The DFA of Table 3-7, derived by hand from its rows."""


@pytest.mark.smoke
def test_the_picture_in_the_docs_has_every_state_and_every_transition() -> None:
    dfa = DFA.of(TABLE_3_7)
    root = ElementTree.parse(CHECKOUT / "model" / "table_3_7.svg").getroot()
    names = ["start", *(state.name for state in dfa.states[1:]), "done"]
    missing = {str(number): f"{len(state.name.split())} more" for number, state in enumerate(dfa.states)}
    boxes, edges = {}, set()
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        label = "".join(group.itertext()).strip()
        if "data-state" in group.attrib:
            boxes[group.attrib["data-state"]] = label
        else:
            source, to = map(int, group.attrib["data-edge"].split())
            edges.add((names[source], names[to] if to != START else "done", label))
    assert boxes == missing | {"0": "start", "end": "done"}
    assert edges == EDGES
    for source, to, units in EDGES:
        after = {dfa.step(names.index(source), unit) for part in units.split() for unit in Range.parse(part)}
        assert after == {START if to == "done" else names.index(to)}


def test_json_has_the_rows_and_a_dfa_that_decodes() -> None:
    content = json.loads(render(TABLE_3_7, "json"))
    assert content["rows"][4] == {"code_points": [0xD000, 0xD7FF], "units": [[0xED, 0xED], [0x80, 0x9F], [0x80, 0xBF]]}
    assert [len(content[key]) for key in ("rows", "classes", "states")] == [9, 12, 8]
    class_of = {u: n for n, ranges in enumerate(content["classes"]) for a, b in ranges for u in range(a, b + 1)}
    assert sorted(class_of) == list(range(256))
    for pair in product(range(256), repeat=2):
        state: int | None = 0
        for unit in pair:
            state = None if state is None else content["states"][state]["transitions"][class_of[unit]]
        try:
            bytes(pair).decode()
            well_formed = True
        except UnicodeDecodeError:
            well_formed = False
        assert (state == 0) == well_formed


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^format 'png' is not one of text, json$"):
        render(TABLE_3_7, "png")
