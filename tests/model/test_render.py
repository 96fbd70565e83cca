# SPDX-License-Identifier: BSD-2-Clause
"""Tables and DFAs as text, drawings and C."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.processes import run

from utf8fpga.model import DFA, REJECT, START, TABLE_3_7, UTF_16
from utf8fpga.model.render import FORMATS, render
from utf8fpga.model.vectors import vectors

EDGES = {
    ("start", "code point", "00..7F"),
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
    ("80..BF", "code point", "80..BF"),
}
"""The DFA of Table 3-7, derived by hand from its rows."""


@pytest.mark.parametrize("form", FORMATS)
def test_output_is_deterministic_and_ends_with_a_newline(form: str) -> None:
    assert render(TABLE_3_7, form) == render(TABLE_3_7, form)
    assert render(TABLE_3_7, form).endswith("\n")
    assert not any(line != line.rstrip() for line in render(TABLE_3_7, form).splitlines())


def test_dot_has_the_edges_of_table_3_7() -> None:
    text = render(TABLE_3_7, "dot")
    names = dict(re.findall(r'^  (\w+) \[label="([^"]*)"', text, re.MULTILINE))
    edges = re.findall(r'^  (\w+) -> (\w+) \[label="([^"]*)"\];$', text, re.MULTILINE)
    assert {(names[a], names[b], label) for a, b, label in edges} == EDGES


def test_svg_shows_every_state_and_every_edge_label() -> None:
    root = ElementTree.fromstring(render(TABLE_3_7, "svg"))
    space = {"s": "http://www.w3.org/2000/svg"}
    shown = [text.text for text in root.findall(".//s:text", space)]
    states = {name for edge in EDGES for name in edge[:2]}
    assert sorted(shown[: len(EDGES)]) == sorted(label for _, _, label in EDGES)
    assert set(shown[len(EDGES) : -1]) == states
    assert shown[-1] == "UTF-8: 8 states that are not reject, 12 unit classes; any other unit breaks the sequence"
    assert len(root.findall("s:g/s:path", space)) == len(EDGES)


def test_svg_groups_have_the_numbers_of_the_states_and_transitions() -> None:
    dfa = DFA.of(TABLE_3_7)
    root = ElementTree.fromstring(render(TABLE_3_7, "svg"))
    groups = {text: group.attrib for group in root for text in group.itertext()}
    names = {"start": START, "code point": "end"} | {state.name: n for n, state in enumerate(dfa.states) if n != START}
    assert {name: groups[name] for name in names} == {name: {"data-state": str(n)} for name, n in names.items()}
    edges = [group.attrib["data-edge"] for group in root if "data-edge" in group.attrib]
    expected = {f"{n} {dfa.step(n, unit)}" for n in range(len(dfa.states)) for unit in range(256)}
    assert sorted(edges) == sorted(edge for edge in expected if not edge.endswith(str(REJECT)))


def test_svg_boxes_do_not_overlap_and_lie_inside() -> None:
    for table in (TABLE_3_7, UTF_16):
        root = ElementTree.fromstring(render(table, "svg"))
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        boxes = [
            tuple(float(box.attrib[key]) for key in ("x", "y", "width", "height"))
            for box in root.iter("{http://www.w3.org/2000/svg}rect")
            if "rx" in box.attrib
        ]
        assert len(boxes) == len(DFA.of(table).states) + 1
        for number, (x, y, w, h) in enumerate(boxes):
            assert x >= 0
            assert x + w <= width
            assert y + h <= height - 16
            for other_x, other_y, other_w, other_h in boxes[:number]:
                assert x + w < other_x or other_x + other_w < x or y + h < other_y or other_y + other_h < y


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


def test_markdown_tables_have_rows_of_equal_length() -> None:
    lines = render(TABLE_3_7, "markdown").splitlines()
    assert lines[0] == "# UTF-8"
    assert "| U+D000..U+D7FF | ED | 80..9F | 80..BF |  |" in lines
    widths = [len(line.split("|")) for line in lines if line.startswith("|")]
    assert [widths.count(n) for n in (7, 4, 15)] == [11, 10, 10]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc) is installed")
def test_c_header_compiles_and_decodes_as_cpython(tmp_path: Path) -> None:
    (tmp_path / "dfa.h").write_text(render(TABLE_3_7, "c"))
    (tmp_path / "decode.c").write_text(C_DECODER)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-shared", "-fPIC"]
    run(["cc", *strict, "-o", "decode.so", "decode.c"], cwd=tmp_path, check=True)
    decode = ctypes.CDLL(str(tmp_path / "decode.so")).decode
    bounds = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED]
    bounds += [0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF]
    samples = [bytes(sample) for n in range(4) for sample in product(bounds, repeat=n)]
    samples += [vector.units for vector in vectors()]
    samples.append("".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)])).encode())
    for sample in samples:
        out = (ctypes.c_uint32 * (len(sample) + 1))()
        count = decode(sample, len(sample), out)
        wanted = sample.decode("utf-8", "replace")
        assert bytes(memoryview(out).cast("B")[: 4 * count]) == wanted.encode("utf-32-le"), sample[:9].hex(" ")


C_DECODER = """
#include <stddef.h>
#include "dfa.h"

size_t decode(const uint8_t *bytes, size_t length, uint32_t *out);

size_t decode(const uint8_t *bytes, size_t length, uint32_t *out)
{
    size_t count = 0;
    uint32_t state = utf_8_start, code_point = 0;
    for (size_t at = 0; at < length; at++) {
        uint32_t open = state != utf_8_start;
        state = utf_8_decode(state, &code_point, bytes[at]);
        if (state == utf_8_reject && open) {
            out[count++] = 0xFFFD;
            state = utf_8_decode(utf_8_start, &code_point, bytes[at]);
        }
        if (state == utf_8_reject) {
            out[count++] = 0xFFFD;
            state = utf_8_start;
        } else if (state == utf_8_start) {
            out[count++] = code_point;
        }
    }
    if (state != utf_8_start)
        out[count++] = 0xFFFD;
    return count;
}
"""


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^format 'png' is not one of text, markdown, json, dot, svg, c$"):
        render(TABLE_3_7, "png")
