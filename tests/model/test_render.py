# SPDX-License-Identifier: BSD-2-Clause
"""Tables and DFAs as text, JSON and drawings."""

from __future__ import annotations

import json
from itertools import product
from xml.etree import ElementTree

import pytest

from utf8fpga.model import DFA, REJECT, START, TABLE_3_7
from utf8fpga.model.render import render

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


def test_svg_shows_every_state_and_every_edge_label() -> None:
    root = ElementTree.fromstring(render(TABLE_3_7, "svg"))
    space = {"s": "http://www.w3.org/2000/svg"}
    shown = [text.text for text in root.findall(".//s:text", space)]
    states = {name.split()[0] for edge in EDGES for name in edge[:2]}
    assert sorted(shown[: len(EDGES)]) == sorted(label for _, _, label in EDGES)
    assert set(shown[len(EDGES) : -1]) == states
    assert shown[-1] == "UTF-8: 8 states that are not reject, 12 unit classes; any other unit breaks the sequence"
    assert len(root.findall("s:g/s:path", space)) == len(EDGES)


def test_svg_groups_have_the_numbers_of_the_states_and_transitions() -> None:
    dfa = DFA.of(TABLE_3_7)
    root = ElementTree.fromstring(render(TABLE_3_7, "svg"))
    groups = {
        group.get("data-state"): "".join(group.itertext()).strip() for group in root if "data-state" in group.attrib
    }
    names = {str(n): state.name.split()[0] for n, state in enumerate(dfa.states)}
    assert groups == names | {str(START): "start", "end": "done"}
    edges = [group.attrib["data-edge"] for group in root if "data-edge" in group.attrib]
    expected = {f"{n} {dfa.step(n, unit)}" for n in range(len(dfa.states)) for unit in range(256)}
    assert sorted(edges) == sorted(edge for edge in expected if not edge.endswith(str(REJECT)))


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
    with pytest.raises(ValueError, match=r"^format 'png' is not one of text, json, svg$"):
        render(TABLE_3_7, "png")
