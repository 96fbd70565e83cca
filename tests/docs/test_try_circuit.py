# SPDX-License-Identifier: BSD-2-Clause
"""The simulation of netlists on the page "Try it in the browser", against CPython."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.javascript import Page, extension
from support.oracle import BOUNDARY, items_of

from utf8fpga.hdl import DecoderParameters, axi_rtlil, build
from utf8fpga.model import CATALOGUE, TABLE_3_7, EncodingTable, decode
from utf8fpga.sim.aiger import aig_of

DATA = extension("try_data")
TORTURE = resources.files("utf8fpga").joinpath("texts", "torture.txt").read_bytes()
OTHERS = [table for table in CATALOGUE.values() if table.unit_width == 8 and table != TABLE_3_7]
SMALLEST, PIPELINED, PACKED = range(3)

DECLARATIONS = """
const circuits = utf8fpga.data.circuits.map((each) => new utf8fpga.Circuit(each));
const tableOf = (circuit) => utf8fpga.data.tables.find(({ name }) => name === circuit.table);
const run = (number, bytes, options) => utf8fpga.simulate(circuits[number], bytes, options);
const transferred = (trace) => trace.cycles
  .filter(({ rst, m_axis_tvalid, m_axis_tready }) => !rst && m_axis_tvalid && m_axis_tready)
  .map((cycle) => [utf8fpga.wordsOf(trace, cycle).filter(Boolean), cycle.m_axis_tlast]);
const drawn = (trace) => utf8fpga.waveform(trace, utf8fpga.columnsOf(trace));
const differenceOf = (trace, bytes) =>
  utf8fpga.compare(trace, bytes, utf8fpga.decode(utf8fpga.data.tables[0], bytes)).difference;
const walked = (circuit, bytes) => utf8fpga.walk(tableOf(circuit), bytes);
const compared = (number, bytes, options, change = (items) => items) => {
  const items = utf8fpga.decode(tableOf(circuits[number]), bytes);
  return utf8fpga.compare(run(number, bytes, options), bytes, change(items));
};
"""


@pytest.fixture(scope="module")
def page(site: Path) -> Iterator[Page]:
    opened = Page((site / "_static" / "try" / "data.js").read_text(encoding="utf-8"))
    opened.define(DECLARATIONS)
    yield opened
    opened.close()


def words(page: Page, number: int, text: bytes, **options: Any) -> list[tuple[int, bool]]:
    """The words of a packet, after a check that it ends with the last beat and no earlier."""
    beats = page("transferred(run(number, bytes, options))", number=number, bytes=list(text), options=options)
    assert [last for _, last in beats] == [False] * (len(beats) - 1) + [True]
    return [(word["codePoint"], word["isError"]) for found, _ in beats for word in found]


def expected(text: bytes) -> list[tuple[int, bool]]:
    return [(point, cause is not None) for _, _, point, cause in items_of(text)]


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(BOUNDARY), max_size=30).map(bytes),
    st.sampled_from([SMALLEST, PIPELINED, PACKED]),
    st.sampled_from([0, 0.4, 0.8]),
    st.sampled_from([0, 0.4, 0.8]),
    st.integers(0, 1000),
)
def test_any_text_with_pauses_and_stalls(
    page: Page, text: bytes, number: int, pauses: float, stalls: float, seed: int
) -> None:
    options = {"pauses": pauses, "stalls": stalls, "seed": seed}
    assert words(page, number, text, **options) == expected(text)
    found = page("compared(number, bytes, options)", number=number, bytes=list(text), options=options)
    lanes = 4 if number == PACKED else 1
    assert found["difference"] is None
    assert (found["beats"], found["words"]) == (max(-(-len(text) // lanes), 1), len(expected(text)))


@pytest.mark.parametrize("table", OTHERS, ids=lambda table: table.name)
def test_the_circuits_of_other_tables_decode_them(page: Page, table: EncodingTable) -> None:
    number = [circuit["table"] for circuit in page("utf8fpga.data.circuits")].index(table.name)
    text = bytes.fromhex("FD BF BF BF BF BF C0 ED A0 80 FE") + TORTURE
    items = [(item.code_point, item.error is not None) for item in decode(text, table)]
    assert words(page, number, text, stalls=0.2) == items
    found = page("compared(number, bytes, {pauses: 0.2}).difference", number=number, bytes=list(text))
    assert found is None


def test_the_graph_is_that_of_the_design(page: Page) -> None:
    core = build(DecoderParameters(optimize="area"))
    aig = aig_of(axi_rtlil(core))
    pairs = page("Array.from(circuits[0].left, (left, at) => [left, circuits[0].right[at]])")
    assert [tuple(pair) for pair in pairs] == aig.gates
    assert page("circuits[0].latches.length") == 44


# Differences are reported.


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ("(items) => (items[1].codePoint += 1, items)", "word 1 is not item 1 of the table"),
        ("(items) => (items[0].error = null, items)", "word 0 is not item 0 of the table"),
        ("(items) => items.slice(0, 2)", "word 2 is not item 2 of the table"),
        ("(items) => [...items, items[0]]", "3 words, but 4 items"),
    ],
)
def test_other_items_are_a_difference(page: Page, change: str, difference: str) -> None:
    found = page(f"compared(0, bytes, {{}}, {change}).difference", bytes=list(b"\xe1\x80AB"))
    assert found.partition(": ")[2] == difference or found == difference


def test_a_packet_that_does_not_end_is_a_difference(page: Page) -> None:
    found = page("compared(0, bytes, {limit: 5}).difference", bytes=list(b"ABCDEFGH"))
    assert found == "the packet did not end in 5 cycles"


def test_an_output_that_changes_while_it_waits_is_a_difference(page: Page) -> None:
    page.define("""
      function disturbed(bytes) {
        const trace = run(0, bytes, { stalls: 0.5 });
        const at = trace.cycles.findIndex((c) => !c.rst && c.m_axis_tvalid && !c.m_axis_tready);
        trace.cycles[at].m_axis_tdata += 1n;
        return [at, differenceOf(trace, bytes)];
      }
    """)
    at, found = page("disturbed(bytes)", bytes=[65] * 50)
    assert found == f"cycle {at + 1}: the output changed while it was waiting"


def test_every_wrong_gate_of_a_sample_is_a_difference(page: Page) -> None:
    # A gate that always is 1 changes the words, or the end of the packet, unless the gate has no effect.
    page.define("""
      function mutant(gate, bytes) {
        const circuit = new utf8fpga.Circuit(utf8fpga.data.circuits[0]);
        circuit.left[gate] = circuit.right[gate] = 1;
        return differenceOf(utf8fpga.simulate(circuit, bytes, { pauses: 0.3, stalls: 0.3 }), bytes);
      }
    """)
    found = [page("mutant(gate, bytes)", gate=gate, bytes=list(TORTURE)) for gate in range(0, 280, 7)]
    assert sum(each is not None for each in found) >= 0.9 * len(found)


def texts_of_waveform(page: Page, text: bytes, number: int = 0, **options: float) -> list[str]:
    drawn = page("drawn(run(number, bytes, options))", number=number, bytes=list(text), options=options)
    return ["".join(each.itertext()) for each in ElementTree.fromstring(drawn).findall(".//{*}text")]


@pytest.mark.parametrize("stalls", [0, 0.8])
def test_the_waveform_shows_each_beat_once_however_long_it_waits(page: Page, stalls: float) -> None:
    texts = texts_of_waveform(page, b"ZZZZZZZZ", stalls=stalls)
    assert (texts.count("5A"), texts.count("U+005A")) == (8, 8)


def test_the_waveform_shows_the_ports_and_their_values(page: Page) -> None:
    text = b"\xe1\x80A"
    texts = texts_of_waveform(page, text)
    ports = ["tvalid", "tready", "tdata", "tkeep", "tlast"]
    labels = ["clk", "rst", *(f"s_axis_{name}" for name in ports)]
    labels += [f"m_axis_{name}" for name in (*ports[:4], "tuser", "tlast")]
    shown = [each.partition(" (") for each in texts if each.partition(" (")[0] in labels]
    assert [label for label, *_ in shown] == labels
    radices = {label: radix.rstrip(")") for label, _, radix in shown if radix}
    assert radices == {
        "s_axis_tdata": "hex, first byte left",
        "s_axis_tkeep": "binary",
        "m_axis_tdata": "code point",
        "m_axis_tkeep": "binary",
        "m_axis_tuser": "binary: error",
    }
    assert [each for each in texts if each in ("E1", "80", "41")] == ["E1", "80", "41"]
    assert [each for each in texts if each.startswith("U+")] == ["U+FFFD", "U+0041"]


@pytest.mark.parametrize("options", [{}, {"pauses": 0.7}, {"stalls": 0.7}, {"pauses": 0.9, "stalls": 0.9}])
def test_columns_are_all_cycles_and_leave_out_those_without_a_transfer(page: Page, options: dict[str, float]) -> None:
    for number in (SMALLEST, PACKED):
        page.define(f"var folded = run({number}, {list(TORTURE[:60])}, {options})")
        cycles = page("folded.cycles.map((c) => [c.rst, c.s_axis_tvalid && c.s_axis_tready, c.m_axis_tvalid])")
        shown: list[int] = []
        for column in page("utf8fpga.columnsOf(folded)"):
            if isinstance(column, dict):
                left_out = list(range(column["first"], column["last"] + 1))
                assert len(left_out) >= 3
                assert not any(any(cycles[at]) for at in left_out)
                shown += left_out
            else:
                shown.append(column)
        assert shown == list(range(len(cycles)))


@pytest.mark.parametrize("number", [SMALLEST, PIPELINED, PACKED], ids=list(DATA.CIRCUITS))
@pytest.mark.parametrize("stalls", [0, 0.8])
def test_the_first_word_is_valid_within_the_specified_latency(page: Page, number: int, stalls: float) -> None:
    parameters = DecoderParameters(**list(DATA.CIRCUITS.values())[number])
    latency = page("circuits[number].latency", number=number)
    assert latency == build(parameters).latency
    for text in (b"A", b"ABCD", "\u00e9".encode(), b"\xe1\x80ABCDEFGH"):
        expression = "utf8fpga.firstLatency(run(number, text, {stalls}), walked(circuits[number], text))"
        found = page(expression, number=number, text=list(text), stalls=stalls)
        assert 0 <= found["valid"] - found["sent"] <= latency, text


def test_the_cycles_of_a_byte_are_those_of_its_beat_and_of_its_word(page: Page) -> None:
    # A cycle of reset; then a byte per cycle; a complete item is output a cycle after its last byte.
    text, expression = "A\u20acB".encode(), "utf8fpga.cyclesOf(run(0, text, {}), utf8fpga.decode(table, text), offset)"
    for offset, cycles in enumerate([[1, 2], [2, 5], [3, 5], [4, 5], [5, 6]]):
        code = expression.replace("table", "utf8fpga.data.tables[0]")
        assert page(code, text=list(text), offset=offset) == cycles
