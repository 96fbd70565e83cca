# SPDX-License-Identifier: BSD-2-Clause
"""Resets between texts: that they lose nothing, and that no flipped bit outlasts them."""

from __future__ import annotations

import random
import runpy
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator
from support.changes import with_change
from support.icarus import requires_icarus, run_verilog, split_texts

from utf8fpga.formal.aiger import aig_of
from utf8fpga.formal.catalogue import CONFIGURATIONS
from utf8fpga.formal.periodic_reset_proof import prove_refresh
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import (
    MARK_PRACTICES,
    MAX_LANES,
    MOST,
    PIPELINES,
    STILL,
    Decoder,
    PackedDecoder,
    ParallelDecoder,
    PracticeDecoder,
    Refresh,
    RefreshedDecoder,
    SerialDecoder,
    axi_rtlil,
    axi_verilog,
)
from utf8fpga.hdl import periodic_reset as module
from utf8fpga.hdl.memory_buffer import CAPACITY
from utf8fpga.model import decode
from utf8fpga.sim.simulation import ContractError, Simulation, text_beats

TEXTS = [
    b"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
    b"\xe1\x80A\xed\xa0\x80\xf4\x90\x80\x80",
    b"",
    bytes(range(0x41, 0x5B)) * 3,
    b"\xc2",
    b"\xf0\x9f\x98\x80" * 11,
]


def test_nothing_but_whole_clocks_is_taken() -> None:
    with pytest.raises(ValueError, match=r"^refresh 0 is not in 1\.\.281474976710655$"):
        Refresh(0)


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 5, 16, 17, 64, 129, MAX_LANES])
@pytest.mark.parametrize("pipeline", [0, 6])
def test_no_decoder_needs_longer_or_holds_more(lanes: int, pipeline: int) -> None:
    """What the proof of `Refresh` leaves to its numbers."""
    for buffer in ("registers", "memory")[: 1 + (lanes >= 4)]:
        sparse = ParallelDecoder(lanes=lanes, pipeline=pipeline, buffer=buffer)
        assert max(sparse.drain_cycles, sparse.reset_cycles) < STILL
        if lanes > 1:
            packed = PackedDecoder(lanes=lanes, pipeline=pipeline, buffer=buffer)
            packer = packed.packer
            assert packed.drain_cycles < STILL
            # Each beat that comes to the packer opens a row at most.
            assert packer.depth + 1 + max(CAPACITY, sparse.latency) < MOST


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_no_serial_decoder_does(pipeline: int) -> None:
    for practice in MARK_PRACTICES:
        made = PracticeDecoder(practice, pipeline=pipeline)
        assert max(made.drain_cycles, SerialDecoder(pipeline=pipeline).drain_cycles) < min(STILL, MOST)


def test_a_reset_that_would_come_before_the_decoder_has_drained_is_rejected() -> None:
    decoder = ParallelDecoder(lanes=4)
    needed = decoder.drain_cycles
    assert needed > decoder.reset_cycles
    RefreshedDecoder(decoder, Refresh(1, still=needed + 1))
    with pytest.raises(ValueError, match=f"^{needed} cycles without a beat are too few for this decoder: more than"):
        RefreshedDecoder(decoder, Refresh(1, still=needed))


# The proof, and that it refuses what is wrong.

changed = partial(with_change, module, "Refresh")


@pytest.mark.parametrize("every", [1, 16])
def test_proved(every: int) -> None:
    assert {name: verdict.proved for name, verdict in prove_refresh(Refresh(every)).items()} == dict.fromkeys(
        ("passes", "harmless", "due", "closes", "comes", "counts"), True
    )


BROKEN = [
    ("is_still & ~self.shows & (self.closed | ~self.able)", "~self.shows & (self.closed | ~self.able)", "harmless"),
    ("is_still & ~self.shows &", "is_still &", "harmless"),
    ("still >= self.still", "still >= self.still - 1", "harmless"),
    ("is_due & ~inside & ~refused", "is_due & ~refused", "harmless"),
    ("is_due & ~inside & ~refused", "is_due & ~inside", "harmless"),
    ("with m.If(taken | self.shows)", "with m.If(taken)", "harmless"),
    ("with m.If(taken | self.shows)", "with m.If(self.shows)", "harmless"),
    ("self.gone >= self.most", "self.gone >= self.most - 1", "harmless"),
    ("inside.eq(~self.last)", "inside.eq(0)", "harmless"),
    ("age.eq(age + 1)", "age.eq(age)", "due"),
    ("inside.eq(~self.last)", "inside.eq(1)", "closes"),
    # A null beat begins no text, and ends none.
    ("with m.If(taken & (self.keep | self.last))", "with m.If(taken)", "closes"),
    ("with m.If(taken & (self.keep | self.last))", "with m.If(taken & self.last)", "harmless"),
    ("is_due & ~inside & ~refused", "is_due & ~inside & ~refused & ~self.offered", "closes"),
    ("still >= self.still", "still == self.still", "comes"),
    ("(self.closed | ~self.able)", "self.closed", "comes"),
    ("self.gone + 1", "self.gone", "counts"),
    (" | too_many", "", "counts"),
]


def first_of_each(broken: Sequence[tuple[str, str, str]]) -> list[Any]:
    """The first for each question is tried in every run, the others with the marker `proof`."""
    questions = [question for _, _, question in broken]
    return [
        pytest.param(*each, marks=[pytest.mark.proof] * (each[2] in questions[:n])) for n, each in enumerate(broken)
    ]


@pytest.mark.parametrize(("old", "new", "question"), first_of_each(BROKEN))
def test_a_broken_one_is_refused(old: str, new: str, question: str) -> None:
    assert prove_refresh(changed(old, new)(16), asked=[question])[question].proved is False


def test_a_decoder_that_waits_for_its_consumer_is_not_stuck(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A serial decoder without registers is not ready in the first clock in which it shows something."""
    hasty = changed("is_still & ~self.shows &", "is_still &")
    monkeypatch.setattr(Refresh, "elaborate", hasty.elaborate)
    (result,) = prove(CONFIGURATIONS["serial-0-refresh"], "steady")
    assert result.proved is False
    assert result.counterexample is not None
    result.counterexample.write(tmp_path)
    regression = runpy.run_path(str(tmp_path / "test_serial_0_refresh_steady.py"))["test_serial_0_refresh_steady"]
    with pytest.raises((AssertionError, ContractError)):
        regression()
    monkeypatch.undo()
    regression()


@pytest.mark.parametrize(
    ("pipeline", "wanted"),
    [
        (0, "equivalence"),
        (0, "steady"),
        (2, "independence"),
        *(
            pytest.param(*each, marks=pytest.mark.proof)
            for each in ((0, "independence"), (1, "equivalence"), (1, "steady"), (1, "independence"), (2, "steady"))
        ),
    ],
)
def test_a_serial_decoder_is_proved_with_it(pipeline: int, wanted: str) -> None:
    assert [result.verdict for result in prove(CONFIGURATIONS[f"serial-{pipeline}-refresh"], wanted)] == ["proved"]


MISWIRED = [
    ("self.input.valid & ~refresh.closed", "self.input.valid", "passes"),
    ("eq(source.ready & ~refresh.closed)", "eq(source.ready)", "passes"),
    ("(allow_reset_less=True) | refresh.restart", "(allow_reset_less=True)", "passes"),
    ("refresh.offered.eq(self.input.valid)", "refresh.offered.eq(0)", "harmless"),
    ("refresh.last.eq(self.input.payload.last)", "refresh.last.eq(1)", "harmless"),
    ("refresh.keep.eq(Value.cast(self.input.payload.keep).any())", "refresh.keep.eq(1)", "closes"),
    (
        "refresh.keep.eq(Value.cast(self.input.payload.keep).any())",
        "refresh.keep.eq(self.input.payload.keep[0])",
        "harmless",
    ),
    ("refresh.able.eq(source.ready)", "refresh.able.eq(1)", "harmless"),
    ("refresh.shows.eq(output.valid)", "refresh.shows.eq(0)", "harmless"),
    ("refresh.wanted.eq(self.output.ready)", "refresh.wanted.eq(1)", "harmless"),
]


@pytest.mark.parametrize(("old", "new", "question"), first_of_each(MISWIRED))
def test_the_wiring_that_is_generated_is_the_wiring_that_is_proved(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, question: str
) -> None:
    """One fault in it changes the Verilog and is refused by the proof."""
    generated = axi_rtlil(Decoder(refresh=16))
    broken = with_change(module, "RefreshedDecoder", old, new)
    monkeypatch.setattr(RefreshedDecoder, "elaborate", broken.elaborate)
    assert axi_rtlil(Decoder(refresh=16)) != generated
    assert prove_refresh(Refresh(16), asked=[question])[question].proved is False


# With a decoder.


@pytest.mark.parametrize(("lanes", "packed"), [(1, False), (2, False), (4, True)])
def test_the_simulated_texts_are_whole(lanes: int, packed: bool) -> None:
    """Back to back, with a reset after each text."""
    decoder = Decoder(lanes=lanes, packed=packed, kind=True, length=True)
    simulation = Simulation(RefreshedDecoder(decoder, Refresh(1)))
    run = simulation.run(TEXTS, input_pauses=[False] * 5 + [True], output_pauses=[False] * 3 + [True])
    assert run.texts == [list(decode(text)) for text in TEXTS]
    # Each text but the first waits until nothing has moved for so long.
    assert run.clocks > STILL * (len(TEXTS) - 1)


class Registered(wiring.Component):
    """A refreshed decoder with registers of the same domain before its input and behind its output."""

    def __init__(self, decoder: RefreshedDecoder) -> None:
        self.decoder, self.unit, self.given = decoder, Signal(8), Signal(21)
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decoder = decoder = self.decoder
        unit, valid = Signal(8), Signal()
        m.d.sync += [unit.eq(self.unit), valid.eq(1)]
        m.d.comb += [
            decoder.input.payload.symbols[0].eq(unit),
            decoder.input.payload.keep.eq(1),
            decoder.input.valid.eq(valid),
            decoder.output.ready.eq(1),
        ]
        m.d.sync += self.given.eq(Mux(decoder.output.valid, decoder.output.payload.symbols[0].code_point, 0))
        return m


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_registers_around_it_see_the_same_clock_edges(pipeline: int) -> None:
    """Each character comes as many cycles later as there are registers on its way."""
    refreshed = RefreshedDecoder(SerialDecoder(pipeline=pipeline), Refresh(100))
    design, given = Registered(refreshed), []

    async def bench(ctx: Any) -> None:
        for unit in range(0x41, 0x61):
            ctx.set(design.unit, unit)
            await ctx.tick()
            given.append(ctx.get(design.given))

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    expected = [0] * (1 + refreshed.latency) + list(range(0x41, 0x61))
    assert given == expected[: len(given)]


@lru_cache(maxsize=8)
def verilog_of(lanes: int, packed: bool, every: int) -> str:
    return axi_verilog(Decoder(lanes=lanes, packed=packed, refresh=every))


SHAPES = [(1, False), (4, False), (4, True)]
TRAFFIC = [(20, 30), (98, 60), (60, 98)]


@requires_icarus
@pytest.mark.parametrize(
    ("lanes", "packed", "every", "busy_in", "busy_out"),
    [
        # Each traffic with each shape; the other half with the marker `slow`.
        pytest.param(*shape, every, *traffic, marks=[pytest.mark.slow] * ((n + k + every) % 2))
        for n, shape in enumerate(SHAPES)
        for k, traffic in enumerate(TRAFFIC)
        for every in (1, 100)
    ],
)
def test_texts_are_whole(lanes: int, packed: bool, every: int, busy_in: int, busy_out: int, tmp_path: Path) -> None:
    """With pauses on both sides, short ones and such that a refresh comes within, texts back to back."""
    verilog = verilog_of(lanes, packed, every)
    traffic = {"busy_in": busy_in, "busy_out": busy_out}
    beats = run_verilog(verilog, TEXTS * 3, tmp_path, lanes=lanes, packed=packed, **traffic)
    found = ["".join(chr(word.tdata) for word in text) for text in split_texts(beats)]
    assert found == [text.decode(errors="replace") for text in TEXTS * 3]


RUNS, COUNT = 32, 9
EXPECTED = [TEXTS[n % len(TEXTS)].decode(errors="replace") for n in range(COUNT)]


class Upset:
    """The same texts in runs side by side, of decoders with flipped bits and consumers of their own.

    Args:
        lanes, packed: of the decoder.
        refresh: see `Refresh`.
        everything: all registers hold anything at first; otherwise a bit is flipped within the first texts.

    Attributes:
        texts: per run those that come out.
    """

    def __init__(self, lanes: int, packed: bool, refresh: int | None, *, everything: bool) -> None:
        self.rng = rng = random.Random(f"{lanes} {packed} {refresh} {everything}")
        made = Decoder(lanes=lanes, packed=packed, refresh=refresh)
        self.aig = aig = aig_of(axi_rtlil(made), top="utf8_decoder")
        self.lanes = lanes
        self.state = [rng.getrandbits(RUNS) if everything else 0 for _ in aig.latches]
        self.beats = [beat for n in range(COUNT) for beat in text_beats(TEXTS[n % len(TEXTS)], lanes)]
        self.at = [0] * RUNS
        self.texts = [[""] for _ in range(RUNS)]
        flips = [0 if everything else rng.randrange(5, 40) for _ in range(RUNS)]
        silent = 0
        for clock in range(1, 3000):
            for run in range(RUNS):
                if clock == flips[run]:
                    self.state[rng.randrange(len(self.state))] ^= 1 << run
            silent = 0 if self.play() or min(self.at) < len(self.beats) else silent + 1
            if silent > 2 * (STILL + MOST):
                break

    def play(self) -> bool:
        """One clock; whether anything comes out in any run."""
        now = [self.beats[n] if n < len(self.beats) else ((), False) for n in self.at]
        offered = [n < len(self.beats) for n in self.at]
        willing = self.rng.getrandbits(RUNS) | self.rng.getrandbits(RUNS)
        frame = [0] * self.aig.inputs
        for port, values in {
            "s_axis_tdata": [int.from_bytes(bytes(units), "little") for units, _ in now],
            "s_axis_tkeep": [(1 << len(units)) - 1 for units, _ in now],
            "s_axis_tlast": [int(last) for _, last in now],
            "s_axis_tvalid": [int(valid) for valid in offered],
            "m_axis_tready": [willing >> run & 1 for run in range(RUNS)],
        }.items():
            for bit, where in enumerate(self.aig.input_bits[port]):
                frame[where] = sum((value >> bit & 1) << run for run, value in enumerate(values))
        self.state, out = self.aig.step(self.state, frame, (1 << RUNS) - 1)
        shown = 0
        for run in range(RUNS):
            self.at[run] += offered[run] and self.seen(out, "s_axis_tready", run)
            shows = self.seen(out, "m_axis_tvalid", run)
            shown |= shows
            if willing >> run & shows:
                self.take(out, run)
        return bool(shown)

    def seen(self, out: Sequence[int], port: str, run: int) -> int:
        """An output of a run."""
        return sum((out[where] >> run & 1) << bit for bit, where in enumerate(self.aig.output_bits[port]))

    def take(self, out: Sequence[int], run: int) -> None:
        """A beat that comes out."""
        words, keep = self.seen(out, "m_axis_tdata", run), self.seen(out, "m_axis_tkeep", run)
        for lane in range(self.lanes):
            if keep >> 4 * lane & 1:
                self.texts[run][-1] += chr(min(words >> 32 * lane & 0xFFFFFFFF, 0x10FFFF))
        if self.seen(out, "m_axis_tlast", run):
            self.texts[run].append("")


@pytest.mark.parametrize(("lanes", "packed"), [(4, False), pytest.param(4, True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("everything", [True, False])
def test_what_comes_after_is_right_again(lanes: int, packed: bool, everything: bool) -> None:
    """The first texts may be lost, and one more may begin before the reset is due."""
    later = 2 if everything else 5
    for texts in Upset(lanes, packed, 1, everything=everything).texts:
        assert texts[-1] == ""
        assert texts[-1 - COUNT + later : -1] == EXPECTED[later:]


def test_without_it_some_never_are() -> None:
    """So the test above says something."""
    runs = Upset(4, False, None, everything=True).texts
    assert sum(texts[-1 - COUNT + 2 : -1] != EXPECTED[2:] for texts in runs) > RUNS // 4
