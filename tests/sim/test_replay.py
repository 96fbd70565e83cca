# SPDX-License-Identifier: BSD-2-Clause
"""A difference between a core and the model is reported with a command that reproduces it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value
from support.command import utf8fpga
from support.faulty_cores import PortFault, faulty_core

from utf8fpga.cli.replay import replay, with_replay
from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.decoder.serial import SERIAL
from utf8fpga.model import EncodingTable
from utf8fpga.sim import Simulation, compare

TEXT = b"A sentence, and nothing but. \xe2\x82" + "Then é€😀 and so on; no end in sight now, as it is known!.".encode()

SERIAL_KIND = DecoderParameters(kind=True)


def n_is_o(m: Module, outer: Any, inner: Any, condition: Value | int = 1) -> None:
    """Replaces an n in the first lane with an o."""
    given = Value.cast(inner.output.payload)
    m.d.comb += Value.cast(outer.output.payload)[0].eq(given[0] ^ ((given[:7] == ord("n")) & condition))


def n_is_o_after_a_wait(m: Module, outer: Any, inner: Any) -> None:
    waited = Signal()
    m.d.sync += waited.eq(waited | (inner.output.valid & ~outer.output.ready))
    n_is_o(m, outer, inner, waited)


def n_is_o_after_a_pause(m: Module, outer: Any, inner: Any) -> None:
    inside, paused = Signal(), Signal()
    with m.If(outer.input.valid & outer.input.ready):
        m.d.sync += inside.eq(~outer.input.payload.last)
    m.d.sync += paused.eq(paused | (inside & ~outer.input.valid))
    n_is_o(m, outer, inner, paused)


def n_is_o_after_a_null_beat(m: Module, outer: Any, inner: Any) -> None:
    source, found = outer.input, Signal()
    m.d.sync += found.eq(found | (source.valid & ~source.payload.keep.any() & ~source.payload.last))
    n_is_o(m, outer, inner, found)


def stops_at_a_separate_end(m: Module, outer: Any, inner: Any) -> None:
    inside, stopped = Signal(), Signal()
    source = outer.input
    with m.If(source.valid & source.ready):
        m.d.sync += inside.eq(~source.payload.last)
    m.d.sync += stopped.eq(stopped | (inside & source.valid & source.payload.last & ~source.payload.keep[0]))
    with m.If(stopped):
        m.d.comb += [outer.output.valid.eq(0), inner.output.ready.eq(0)]


WAVEFORM = ["--vcd", "mismatch.vcd"]

REPLAYED: dict[str, tuple[DecoderParameters, PortFault, list[str]]] = {
    "serial": (SERIAL_KIND, n_is_o, []),
    "sparse": (DecoderParameters(lanes=4, packed=False, kind=True), n_is_o, []),
    "packed": (DecoderParameters(lanes=2, kind=True), n_is_o, []),
    "output pause": (SERIAL_KIND, n_is_o_after_a_wait, ["--output-pauses", "010"]),
    "input pause": (SERIAL_KIND, n_is_o_after_a_pause, ["--input-pauses", "0100"]),
}


@pytest.mark.parametrize(("parameters", "fault", "needed"), REPLAYED.values(), ids=REPLAYED)
def test_the_replay_command_has_the_core_the_shortest_input_and_the_pauses_that_are_needed(
    parameters: DecoderParameters, fault: PortFault, needed: list[str]
) -> None:
    simulation = Simulation(faulty_core(parameters, fault))
    pauses = {"input_pauses": [False, True, False, False], "output_pauses": [False, True, False]}
    found = compare(simulation, TEXT, **pauses)
    assert found is not None
    assert len(found.units) <= (16 if needed else 2 * parameters.lanes)
    assert bytes(found.units).count(b"n") == 1
    digits = bytes(found.units).hex(" ").upper()
    assert replay(found) == ["utf8fpga", "simulate", "--hex", digits, *parameters.arguments(), *needed, *WAVEFORM]


def test_the_replay_command_reproduces_the_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = faulty_core(DecoderParameters(kind=True, optimize="area"), n_is_o)
    found = compare(Simulation(faulty), TEXT)
    assert found is not None
    words = [*replay(found)[1:-1], tmp_path / "mismatch.vcd"]
    with monkeypatch.context() as patch:
        patch.setitem(SERIAL, "area", lambda *_, **__: faulty)
        done = utf8fpga(*words)
        assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", f"utf8fpga: {with_replay(found)}\n")
    done = utf8fpga(*words)
    assert (done.returncode, done.stderr) == (0, b"")


UNSENT: dict[str, PortFault] = {"null beats": n_is_o_after_a_null_beat, "separate ends": stops_at_a_separate_end}


@pytest.mark.parametrize(("option", "fault"), UNSENT.items(), ids=UNSENT)
def test_no_replay_command_where_no_command_line_sends_the_stream(option: str, fault: PortFault) -> None:
    simulation = Simulation(faulty_core(SERIAL_KIND, fault))
    found = compare(simulation, TEXT, separate_ends=[True], null_beats=[False, True])
    assert found is not None
    assert with_replay(found).endswith(f"replay:    none, since no command line sends {option}")


def test_no_replay_command_for_a_table_that_no_option_selects() -> None:
    rows = "400..7FFFF D801..D9FF DC00..DFFF\n0..3FF 0..3FF"
    table = EncodingTable.parse("pairs and more", rows, source="made for this test", unit_width=16)

    def is_an_a(m: Module, outer: Any, inner: Any) -> None:
        with m.If(~inner.output.payload.symbols[0].error):
            m.d.comb += outer.output.payload.symbols[0].code_point.eq(0x41)

    found = compare(Simulation(faulty_core(DecoderParameters(table=table), is_an_a)), [0x41, 0xD801, 0xDC00])
    assert with_replay(found).splitlines() == [
        "the decoder differs from the model at offset 0 of D801 DC00",
        "  model:     U+0400",
        "  simulated: U+0041",
        "  replay:    none, since no option selects the table pairs and more",
    ]
