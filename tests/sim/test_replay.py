# SPDX-License-Identifier: BSD-2-Clause
"""A difference between decoder and model is reported with a command that reproduces it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value
from support.command import utf8fpga
from support.faults import wrap

from utf8fpga.hdl import DecoderParameters, SerialDecoder, SerialSpeedDecoder, cores, decoder_core
from utf8fpga.hdl.decoder.serial import SERIAL
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.sim import Mismatch, Simulation, compare

TEXT = b"A sentence, and nothing but. \xe2\x82" + "Then é€😀 and so on; no end in sight now, as it is known!.".encode()

CHOICES: dict[str, dict[str, Any]] = {
    "serial": {},
    "sparse-memory": {"lanes": 4, "packed": False},
    "packed": {"lanes": 2, "packed": True},
}


def build(choice: dict[str, Any]) -> Any:
    return decoder_core(**choice, kind=True)


# Decoders with faults.

Fault = Callable[[Module, Any, Any], None]


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


def faulty(base: Any, only: list[Any], fault: Fault) -> Any:
    """A class of decoders that are correct except for those with the parameters `only`."""

    class Wrong(base):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._again = lambda: base(*arguments, **options)

        def elaborate(self, platform: object) -> Module:
            if self.parameters != only:
                return super().elaborate(platform)
            inner = self._again()
            m = wrap(inner, self)
            fault(m, self, inner)
            return m

    return Wrong


def insert_fault(choice: dict[str, Any], fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Insert a fault into the decoder of this choice and into no other."""
    wanted = build(choice)
    base = type(wanted)
    wrong = faulty(base, wanted.parameters, fault)
    if isinstance(wanted, SerialDecoder):
        monkeypatch.setitem(SERIAL, wanted.parameters.optimize, wrong)
    else:
        monkeypatch.setattr(cores, base.__name__, wrong)


# The command.


def run_command(words: Iterable[str]) -> tuple[int, str, str]:
    done = utf8fpga(*words)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def replay_of(found: Mismatch, directory: Path) -> list[str]:
    """The words of the replay command, with the waveform in a directory."""
    line = next(line for line in str(found).splitlines() if line.startswith("  replay:"))
    program, *words = shlex.split(line.removeprefix("  replay:"))
    assert program == "utf8fpga"
    assert words[-1] == "mismatch.vcd"
    return [*words[:-1], str(directory / words[-1])]


def assert_replayed(found: Mismatch | None, directory: Path) -> list[str]:
    """Check that the replay command reproduces the difference, and return its words."""
    words = replay_of(found, directory)
    assert run_command(words) == (1, "", f"utf8fpga: {found}\n")
    return words


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_replay_command_selects_the_faulty_decoder(
    choice: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert_fault(choice, n_is_o, monkeypatch)
    decoder = build(choice)
    found = compare(Simulation(decoder), TEXT)
    assert len(found.units) <= 2 * decoder.lanes
    assert bytes(found.units).count(b"n") == 1
    words = assert_replayed(found, tmp_path)
    assert words[1:-2] == ["--hex", bytes(found.units).hex(" ").upper(), *build(choice).parameters.arguments()]


NEEDS: dict[str, tuple[Fault, list[str]]] = {
    "none": (n_is_o, []),
    "output pause": (n_is_o_after_a_wait, ["--output-pauses", "010"]),
    "input pause": (n_is_o_after_a_pause, ["--input-pauses", "0100"]),
}


UNSENT: dict[str, Fault] = {"null beats": n_is_o_after_a_null_beat, "separate ends": stops_at_a_separate_end}


@pytest.mark.parametrize(("option", "fault"), UNSENT.items(), ids=UNSENT)
def test_no_replay_command_where_no_command_line_sends_the_stream(
    option: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert_fault({}, fault, monkeypatch)
    found = compare(Simulation(build({})), TEXT, separate_ends=[True], null_beats=[False, True])
    assert (found.replay, found.no_replay) == ((), f"since no command line sends {option}")


@pytest.mark.parametrize(("fault", "needed"), NEEDS.values(), ids=NEEDS)
def test_replay_command_has_the_required_stream_options(
    fault: Fault,
    needed: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    insert_fault({}, fault, monkeypatch)
    found = compare(
        Simulation(build({})),
        TEXT,
        input_pauses=[False, True, False, False],
        output_pauses=[False, True, False],
    )
    assert len(found.units) <= 16
    words = assert_replayed(found, tmp_path)
    assert words[1:-2] == [
        "--hex",
        bytes(found.units).hex(" ").upper(),
        *build({}).parameters.arguments(),
        *needed,
    ]
    # The difference is caused by the fault in the decoder, not by the stream options.
    monkeypatch.undo()
    status, printed, said = run_command(words)
    assert (status, said) == (0, "")
    assert printed.endswith("the simulated decoder gave exactly the model's items\n")


def test_no_replay_command_for_a_table_that_no_option_selects() -> None:
    wrong: Any = SerialSpeedDecoder(WIDE_UNITS)
    wrong.parameters = DecoderParameters(table=WIDE_CHANGED)
    found = compare(Simulation(wrong), [0x41, 0xD801, 0xDC00])
    assert str(found).splitlines() == [
        "the decoder differs from the model at offset 0 of D801 DC00",
        "  model:     U+0400",
        "  simulated: U+FFFD ERROR",
        "  replay:    none, since no option selects the table pairs and more",
    ]


WIDE_UNITS = EncodingTable.parse(
    "pairs", "800..7FFFF D802..D9FF DC00..DFFF\n0..3FF 0..3FF", source="made for this test", unit_width=16
)
WIDE_CHANGED = EncodingTable.parse(
    "pairs and more", "400..7FFFF D801..D9FF DC00..DFFF\n0..3FF 0..3FF", source="made for this test", unit_width=16
)


# Symbols that come too early.


def guesses(number: int) -> Fault:
    """Outputs an A `number` times before it accepts a unit, and leaves out as many of the items after that."""

    def fault(m: Module, outer: Any, inner: Any) -> None:
        early, omitted = Signal(range(number + 1)), Signal(range(number + 1))
        output = outer.output
        guess = output.payload.shape().const({"symbols": [{"code_point": ord("A")}], "keep": 1})
        with m.If(early != number):
            m.d.comb += [output.valid.eq(1), output.payload.eq(guess)]
            m.d.comb += [inner.input.valid.eq(0), outer.input.ready.eq(0)]
            m.d.sync += early.eq(early + output.ready)
        with m.Elif(omitted != number):
            m.d.comb += [output.valid.eq(0), inner.output.ready.eq(1)]
            m.d.sync += omitted.eq(omitted + inner.output.valid)

    return fault


@pytest.mark.parametrize(("number", "is_difference"), [(2, False), (3, True)])
def test_a_symbol_before_the_units_that_determine_it_is_a_difference(number: int, is_difference: bool) -> None:
    """One symbol may precede the unit after it, as a mark does whose length is not known; all symbols are correct."""
    full = DecoderParameters(kind=True)
    decoder = faulty(SerialSpeedDecoder, full, guesses(number))(TABLE_3_7, kind=True)
    decoder.parameters = full
    simulation = Simulation(decoder)
    assert simulation.run([b"AAAAA"]).texts == [simulation.expected(b"AAAAA")]
    found = compare(simulation, b"AAAAA")
    assert (found is not None) == is_difference
    if found is not None:
        assert (found.expected, found.simulated.code_point) == (None, ord("A"))
