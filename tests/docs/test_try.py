# SPDX-License-Identifier: BSD-2-Clause
"""The page to try without a document: its decoder, its texts, its circuits and their waveforms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracle import BOUNDARY, items_of, plain

from utf8fpga.hdl import DecoderParameters, build
from utf8fpga.model import CATALOGUE, DFA, TABLE_3_7, decode
from utf8fpga.model.table import starts
from utf8fpga.sim import Simulation

Page = Callable[..., Any]
"""Evaluates an expression of the page's scripts, with named values as constants."""

SCRIPTS = ("data.js", "decoder.js", "text.js", "circuit.js", "stream.js", "waveform.js")
"""The scripts that need no document, in the order in which the page loads them."""

TABLES = [table for table in CATALOGUE.values() if table.unit_width == 8]
TORTURE = resources.files("utf8fpga").joinpath("texts", "torture.txt").read_bytes()

CIRCUITS = [DecoderParameters(optimize="area"), DecoderParameters(), DecoderParameters(lanes=4)]
"""The first circuits of the page; those of the other tables follow."""

DECLARATIONS = """
const { tables } = utf8fpga.data;
const circuits = utf8fpga.data.circuits.map((each) => new utf8fpga.Circuit(each));
const tableOf = (circuit) => tables.find(({ name }) => name === circuit.table);
const decoded = (table, bytes) =>
  utf8fpga.decode(table, bytes).map(({ offset, length, codePoint, error }) => [offset, length, codePoint, error]);
const run = (circuit, bytes, options) => utf8fpga.simulate(circuit, bytes, options);
const wordsOf = (trace) => utf8fpga.transfers(trace, "m_axis").map((at) => trace.cycles[at])
  .map((cycle) => [utf8fpga.wordsOf(trace, cycle).filter(Boolean), cycle.m_axis_tlast]);
const compared = (circuit, bytes, options, change = (items) => items, disturb = () => {}) => {
  const trace = run(circuit, bytes, options);
  disturb(trace.cycles);
  return utf8fpga.compare(trace, bytes, change(utf8fpga.decode(tableOf(circuit), bytes)));
};
"""

damaged = st.lists(st.sampled_from(BOUNDARY) | st.integers(0, 255), max_size=40).map(bytes)


@pytest.fixture(scope="module")
def page(site: Path) -> Iterator[Page]:
    engine = pytest.importorskip("py_mini_racer", reason="requires the extra 'dev'").MiniRacer()
    for name in SCRIPTS:
        engine.eval((site / "_static" / "try" / name).read_text(encoding="utf-8"))
    engine.eval(DECLARATIONS)

    def value(expression: str, **values: Any) -> Any:
        plain_values = (list(each) if isinstance(each, bytes) else each for each in values.values())
        arguments = ", ".join(map(json.dumps, plain_values))
        return json.loads(engine.eval(f"JSON.stringify((({', '.join(values)}) => ({expression}))({arguments}))"))

    yield value
    engine.close()  # The process does not end while it is open.


# The decoder and its walk.


@given(damaged)
def test_any_text_has_the_items_of_cpython(page: Page, text: bytes) -> None:
    assert page("decoded(tables[0], text)", text=text) == [list(item) for item in items_of(text)]


@pytest.mark.parametrize(("number", "table"), list(enumerate(TABLES)), ids=[table.name for table in TABLES])
def test_every_table_has_the_items_of_the_model(page: Page, number: int, table: Any) -> None:
    texts = [list(units) for length in (1, 2, 3) for units in product(BOUNDARY[2:], repeat=length)]
    bounds = [point for row in table.rows for point in (row.code_points.first, row.code_points.last)]
    texts += [list(table.encode(point)) for point in bounds]
    texts += [[*text[:-1], 0x41] for text in texts[-len(bounds) :]]
    items = page("texts.map((text) => decoded(tables[number], text))", texts=texts, number=number)
    assert items == [[list(item) for item in plain(decode(text, table))] for text in texts]


@given(damaged)
def test_the_walk_follows_the_dfa_byte_by_byte(page: Page, text: bytes) -> None:
    dfa, state = DFA.of(TABLE_3_7), 0
    steps = page("utf8fpga.walk(tables[0], text)", text=text)
    for step in steps:
        assert step["from"] == state
        state = step["to"] or 0
        if step["byte"] is None:
            assert (step["offset"], step["to"]) == (len(text), None)
        else:
            assert step["byte"] == text[step["offset"]]
            assert (-1 if step["to"] is None else step["to"]) == dfa.step(step["from"], step["byte"])
    # Each byte has one step that is not a return to the start.
    assert [each["offset"] for each in steps if each["from"] == 0 or each["to"] is not None] == list(range(len(text)))


def test_rows_of_a_prefix_are_those_with_a_sequence_that_starts_with_it(page: Page) -> None:
    prefixes = [prefix for length in (0, 1, 2) for prefix in product(BOUNDARY, repeat=length)]
    found = page("prefixes.map((prefix) => utf8fpga.rowsFor(tables[0], prefix))", prefixes=prefixes)
    for prefix, rows in zip(prefixes, found, strict=True):
        assert rows == [number for number, row in enumerate(TABLE_3_7.rows) if starts(prefix, row.units)]


def test_names_of_states_differ_and_say_what_is_missing(page: Page) -> None:
    for names, table in zip(page("tables.map(utf8fpga.stateNames)"), TABLES, strict=True):
        assert len(set(names)) == len(names) == len(DFA.of(table).states), table.name
    leads = ("2 more after E0", "2 more after ED", "3 more after F0", "3 more after F1..F3", "3 more after F4")
    assert sorted(page("utf8fpga.stateNames(tables[0])")) == sorted(["start", "1 more", "2 more", *leads])


WRONG_DIGIT = "is not a hexadecimal digit: write bytes as two digits each."
ODD = "has an odd number of digits: write bytes as two digits each."


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (r"parseHex('e1 80,41;0xA9\n\\x0a%C3%a9')", {"bytes": [0xE1, 0x80, 0x41, 0xA9, 0x0A, 0xC3, 0xA9]}),
        ("parseHex('E1 8G')", {"error": f'"G" {WRONG_DIGIT}'}),
        ("parseHex('E1 \U0001f600')", {"error": f'"\U0001f600" {WRONG_DIGIT}'}),
        ("parseHex('caf%C3')", {"error": f'"caf" {ODD}'}),
        ("parseHex('E1 80 4 1')", {"error": f'"4" {ODD}'}),
        ("spell([225, 8])", "E1 08"),
        ("encodeText(tables[0], 'A\u00e9\u20ac\U0001f600')", list("A\u00e9\u20ac\U0001f600".encode())),
        ("encodeText(tables[0], 'a' + String.fromCharCode(55357) + 'b')", list("a\ufffdb".encode())),
        ("encodeText(tables.at(-1), 'A\U0001f600')", [0x41, 0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]),  # as UTR #26 has it
        ("fieldsOf('#' + utf8fpga.linkOf({a: '\u00e9 &=#%', b: '', c: '1'}))", {"a": "\u00e9 &=#%", "c": "1"}),
        ("fieldsOf('#a=%E1&b&=c&d=1=2')", {"b": "", "d": "1"}),  # What is no link is ignored.
        # The payload bits in Table 3-6.
        ("bitsOf(tables[0], [65])", [7]),
        ("bitsOf(tables[0], [195, 169])", [5, 6]),
        ("bitsOf(tables[0], [226, 130, 172])", [4, 6, 6]),
        ("bitsOf(tables[0], [240, 159, 152, 128])", [3, 6, 6, 6]),
        ("bitsOf(tables[0], [225, 128])", [4, 6]),
        ("bitsOf(tables[0], [128])", [0]),
    ],
)
def test_what_is_typed_and_what_is_shared(page: Page, expression: str, expected: object) -> None:
    assert page(f"utf8fpga.{expression}") == expected


# The circuits.


def words_of(page: Page, number: int, text: bytes, options: dict[str, object]) -> list[tuple[int, bool]]:
    """The words of a packet, after a check that it ends with the last beat and no earlier."""
    beats = page("wordsOf(run(circuits[number], text, options))", number=number, text=text, options=options)
    assert [last for _, last in beats] == [False] * (len(beats) - 1) + [True]
    return [(word["codePoint"], word["isError"]) for words, _ in beats for word in words]


PATTERNS = st.sampled_from(["0", "01", "110", "0111"])
OPTIONS = st.fixed_dictionaries({"pauses": PATTERNS, "stalls": PATTERNS, "seed": st.integers(0, 1000)})


@settings(max_examples=30)
@given(st.lists(st.sampled_from(BOUNDARY), max_size=30).map(bytes), st.sampled_from(range(3)), OPTIONS)
def test_circuits_output_what_cpython_decodes(page: Page, text: bytes, number: int, options: dict[str, object]) -> None:
    expected = [(point, cause is not None) for _, _, point, cause in items_of(text)]
    assert words_of(page, number, text, options) == expected
    found = page("compared(circuits[number], text, options)", number=number, text=text, options=options)
    beats = max(-(-len(text) // CIRCUITS[number].lanes), 1)
    assert (found["difference"], found["beats"], found["words"]) == (None, beats, len(expected))


def test_circuits_of_other_tables_decode_them(page: Page) -> None:
    text = bytes.fromhex("FD BF BF BF BF BF C0 ED A0 80 FE") + TORTURE
    names = page("circuits.map((circuit) => circuit.table)")
    assert names == [TABLE_3_7.name] * len(CIRCUITS) + [table.name for table in TABLES[1:]]
    for number, name in list(enumerate(names))[len(CIRCUITS) :]:
        items = [(item.code_point, item.error is not None) for item in decode(text, CATALOGUE[name])]
        assert words_of(page, number, text, {"stalls": "00001"}) == items


@pytest.mark.parametrize(
    ("arguments", "difference"),
    [
        ("{}, (items) => (items[1].codePoint += 1, items)", "word 1 is not item 1 of the table"),
        ("{}, (items) => (items[0].error = null, items)", "word 0 is not item 0 of the table"),
        ("{}, (items) => [...items, items[0]]", "3 words, but 4 items"),
        ("{limit: 3}", "the packet did not end in 3 cycles"),
        (
            "{stalls: '0111'}, undefined, (cycles) =>"
            " cycles.find((each) => !each.rst && each.m_axis_tvalid && !each.m_axis_tready).m_axis_tdata += 1n",
            "the output changed while it was waiting",
        ),
    ],
)
def test_a_difference_is_reported(page: Page, arguments: str, difference: str) -> None:
    found = page(f"compared(circuits[0], text, {arguments}).difference", text=b"\xe1\x80AB")
    assert found.rpartition(": ")[2] == difference


@pytest.mark.parametrize("number", range(3))
def test_each_cycle_is_that_of_the_command_with_the_same_pauses(page: Page, number: int) -> None:
    text, core = "\u00e9\u20acAB\U0001f600".encode(), build(CIRCUITS[number])
    run = Simulation(core).run([text], input_pauses=[False, False, True], output_pauses=[False, True, True, True])
    trace = "run(circuits[number], text, {pauses: '001', stalls: '0111'})"
    cycles = f"utf8fpga.cyclesOf({trace}, utf8fpga.decode(tables[0], text), at)"
    for item, valid in zip(decode(text), run.valid_since, strict=True):
        found = page(cycles, number=number, text=text, at=item.offset)
        # The page has a cycle of reset before.
        assert (found["enters"] - 1, found["valid"] - 1) == (run.accepted[item.offset // core.lanes], valid)


def test_the_cycles_of_a_byte_are_those_of_its_beat_and_of_its_word(page: Page) -> None:
    # A cycle of reset; then a byte per cycle; a complete item is output a cycle after its last byte.
    cycles = "Object.values(utf8fpga.cyclesOf(run(circuits[0], text), utf8fpga.decode(tables[0], text), offset))"
    found = [page(cycles, text="A\u20acB".encode(), offset=offset) for offset in range(5)]
    assert found == [[1, 2, 2], [2, 5, 5], [3, 5, 5], [4, 5, 5], [5, 6, 6]]


# The waveforms.


def texts_of_waveform(page: Page, text: bytes, stalls: str) -> list[str]:
    trace = "run(circuits[0], text, {stalls})"
    drawn = page(f"utf8fpga.waveform({trace}, utf8fpga.columnsOf({trace}))", text=text, stalls=stalls)
    return ["".join(each.itertext()) for each in ElementTree.fromstring(drawn).findall(".//{*}text")]


def test_the_waveform_has_the_ports_with_their_radix(page: Page) -> None:
    texts = texts_of_waveform(page, b"\xe1\x80A", "0")
    assert [each for each in texts if each in ("clk", "rst") or "_axis_" in each] == [
        *("clk", "rst", "s_axis_tvalid", "s_axis_tready", "s_axis_tdata (hex, first byte left)"),
        *("s_axis_tkeep (binary)", "s_axis_tlast", "m_axis_tvalid", "m_axis_tready", "m_axis_tdata (code point)"),
        *("m_axis_tkeep (binary)", "m_axis_tuser (binary: error)", "m_axis_tlast"),
    ]
    assert [each for each in texts if each in ("E1", "80", "41")] == ["E1", "80", "41"]
    assert [each for each in texts if each.startswith("U+")] == ["U+FFFD", "U+0041"]


@pytest.mark.parametrize("stalls", ["0", "0111"])
def test_the_waveform_has_each_beat_once_however_long_it_waits(page: Page, stalls: str) -> None:
    texts = texts_of_waveform(page, b"ZZZZZZZZ", stalls)
    assert (texts.count("5A"), texts.count("U+005A")) == (8, 8)


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("options", [{}, {"pauses": "0111"}, {"pauses": "01111", "stalls": "0111"}])
def test_columns_leave_out_only_cycles_without_a_transfer(page: Page, number: int, options: dict[str, str]) -> None:
    trace = f"run(circuits[{number}], text, {json.dumps(options)})"
    busy = "(cycle) => cycle.rst || (cycle.s_axis_tvalid && cycle.s_axis_tready) || cycle.m_axis_tvalid"
    columns, cycles = page(f"[utf8fpga.columnsOf({trace}), {trace}.cycles.map({busy})]", text=TORTURE[:60])
    covered: list[int] = []
    for column in columns:
        left_out = range(column["first"], column["last"] + 1) if isinstance(column, dict) else []
        assert not any(cycles[at] for at in left_out)
        covered += left_out or [column]
    assert covered == list(range(len(cycles)))
