# SPDX-License-Identifier: BSD-2-Clause
"""Resets between packets: they lose no items, and no flipped bit has an effect after one."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from support.benches import run_benches
from support.decoders import sparse_decoder
from support.faults import Fault, combinational, inject, registered
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS
from utf8fpga.formal.periodic_reset_proof import prove_refresh
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import (
    MARK_PRACTICES,
    MAX_LANES,
    MOST,
    PIPELINES,
    STILL,
    Refresh,
    RefreshedDecoder,
    axi_rtlil,
    decoder_core,
)
from utf8fpga.hdl.memory_buffer import CAPACITY
from utf8fpga.model import decode
from utf8fpga.sim import ContractError, Simulation

TEXTS = [
    b"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
    b"\xe1\x80A\xed\xa0\x80\xf4\x90\x80\x80",
    b"",
    bytes(range(0x41, 0x5B)) * 3,
    b"\xc2",
    b"\xf0\x9f\x98\x80" * 11,
]


def test_fewer_than_one_cycle_between_resets_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^refresh 0 is not in 1\.\.281474976710655$"):
        Refresh(0)


@pytest.mark.parametrize(
    ("lanes", "pipeline"),
    tiered(
        {
            f"{pipeline}-{lanes}": (lanes, pipeline)
            for pipeline in (0, 6)
            for lanes in (1, 2, 3, 4, 5, 16, 17, 64, 129, MAX_LANES)
        },
        {f"{pipeline}-{lanes}" for pipeline in (0, 6) for lanes in (1, 2, 3, 4, 5, 17)},
    ),
)
def test_no_parallel_decoder_drains_later_or_holds_more_beats_than_the_bounds(lanes: int, pipeline: int) -> None:
    """The proof of `Refresh` assumes these bounds."""
    for buffer in ("registers", "memory", "slices")[: 3 if lanes >= 4 else 1]:
        sparse = sparse_decoder(lanes=lanes, pipeline=pipeline, buffer=buffer)
        assert max(sparse.drain_cycles, sparse.reset_cycles) < STILL
        if lanes > 1:
            packed = decoder_core(lanes=lanes, pipeline=pipeline, buffer=buffer)
            packer = packed.packer
            RefreshedDecoder(packed, 1)  # which checks the bound
            # Each beat that the packer accepts begins at most one row.
            assert packer.capacity + 1 + max(CAPACITY, sparse.latency) < MOST


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_no_serial_decoder_drains_later_than_the_bounds(pipeline: int) -> None:
    for practice in MARK_PRACTICES:
        made = decoder_core(practice=practice, pipeline=pipeline)
        assert max(made.drain_cycles, decoder_core(pipeline=pipeline).drain_cycles) < min(STILL, MOST)


def test_a_reset_before_the_decoder_has_drained_is_rejected() -> None:
    decoder = sparse_decoder(lanes=4)
    needed = decoder.drain_cycles
    assert needed > decoder.reset_cycles
    RefreshedDecoder(decoder, Refresh(1, still=needed + 1))
    with pytest.raises(ValueError, match=f"^{needed} cycles without a beat are too few for this decoder: more than"):
        RefreshedDecoder(decoder, Refresh(1, still=needed))


# The proof, and the faults that it rejects.


@pytest.mark.smoke
@pytest.mark.parametrize("every", tiered({"1": 1, "16": 16}, ["16"], tier=pytest.mark.proof))
def test_proved(every: int) -> None:
    assert {name: verdict.proved for name, verdict in prove_refresh(Refresh(every)).items()} == dict.fromkeys(
        ("passes", "harmless", "due", "closes", "comes", "counts"), True
    )


def accepted(refresh: Any) -> Value:
    """The decoder accepts a beat."""
    return refresh.offered & ~refresh.closed & refresh.able


def stuck(refresh: Any) -> Value:
    """The decoder is not ready, or its input is closed."""
    return refresh.closed | ~refresh.able


def beatless(refresh: Any) -> Value:
    """For long enough there was no beat on either side."""
    return refresh.beatless >= refresh.still


def too_many(refresh: Any) -> Value:
    """The decoder has had too many output beats since it accepted one."""
    return refresh.gone >= refresh.most


def another_beatless_cycle(refresh: Any) -> Any:
    """The cycle is counted as one without a beat."""
    return refresh.beatless.eq(Mux(beatless(refresh), refresh.beatless, refresh.beatless + 1))


REFRESH_FAULTS: dict[str, tuple[Fault, str]] = {
    "a reset does not wait for beats to drain": (
        registered(lambda r: r.restart.eq((~r.shows & stuck(r)) | too_many(r))),
        "harmless",
    ),
    "a reset while a beat is at the output": (
        registered(lambda r: r.restart.eq((beatless(r) & stuck(r)) | too_many(r))),
        "harmless",
    ),
    "a reset one cycle too early": (
        registered(lambda r: r.restart.eq(((r.beatless >= r.still - 1) & ~r.shows & stuck(r)) | too_many(r))),
        "harmless",
    ),
    "the input is closed within a packet": (
        combinational(lambda r: r.closed.eq(r.restart | (r.due & ~r.blocked))),
        "harmless",
    ),
    "a beat is withdrawn": (combinational(lambda r: r.closed.eq(r.restart | (r.due & ~r.inside))), "harmless"),
    "output beats do not count as beats": (
        registered(another_beatless_cycle, when=lambda r: r.shows & ~accepted(r)),
        "harmless",
    ),
    "input beats do not count as beats": (
        registered(another_beatless_cycle, when=lambda r: accepted(r) & ~r.shows),
        "harmless",
    ),
    "a reset one output beat too early": (
        registered(lambda r: r.restart.eq((beatless(r) & ~r.shows & stuck(r)) | (r.gone >= r.most - 1))),
        "harmless",
    ),
    "the start of a packet is ignored": (registered(lambda r: r.inside.eq(0)), "harmless"),
    "cycles are not counted": (registered(lambda r: r.age.eq(r.age)), "due"),
    "a reset is due one cycle too late": (registered(lambda r: r.due.eq(r.due | (r.age[-1] & r.age[0]))), "due"),
    "a reset does not stay due": (registered(lambda r: r.due.eq(r.age[-1])), "due"),
    "the end of a packet is ignored": (
        registered(lambda r: r.inside.eq(1), when=lambda r: accepted(r) & (r.keep | r.last)),
        "closes",
    ),
    "a null beat begins a packet": (registered(lambda r: r.inside.eq(~r.last), when=accepted), "closes"),
    "only the last beat of a packet is regarded": (
        registered(lambda r: r.inside.eq(r.inside), when=lambda r: accepted(r) & ~r.last),
        "harmless",
    ),
    "the input is not closed while a beat is offered": (
        combinational(lambda r: r.closed.eq(r.restart | (r.due & ~r.inside & ~r.blocked & ~r.offered))),
        "closes",
    ),
    "no reset once the count of cycles is beyond its bound": (
        registered(lambda r: r.restart.eq(((r.beatless == r.still) & ~r.shows & stuck(r)) | too_many(r))),
        "comes",
    ),
    "no reset of a decoder that is never ready": (
        registered(lambda r: r.restart.eq((beatless(r) & ~r.shows & r.closed) | too_many(r))),
        "comes",
    ),
    "output beats are not counted": (registered(lambda r: r.gone.eq(r.gone), when=lambda r: ~accepted(r)), "counts"),
    "no reset after too many output beats": (
        registered(lambda r: r.restart.eq(beatless(r) & ~r.shows & stuck(r))),
        "counts",
    ),
}
"""Faults in a `Refresh`, and the question that rejects each."""


def first_of_each(faults: dict[str, tuple[Fault, str]]) -> list[Any]:
    """The first fault for each question is tried in every run, the others with the marker `proof`."""
    questions = [question for _, question in faults.values()]
    return [
        pytest.param(*case, id=name, marks=[pytest.mark.proof] * (case[1] in questions[:n]))
        for n, (name, case) in enumerate(faults.items())
    ]


@pytest.mark.parametrize(("fault", "question"), first_of_each(REFRESH_FAULTS))
def test_a_refresh_with_a_fault_is_rejected(monkeypatch: pytest.MonkeyPatch, fault: Fault, question: str) -> None:
    inject(monkeypatch, Refresh, fault)
    assert prove_refresh(Refresh(16), asked=[question])[question].proved is False


def test_a_decoder_that_waits_for_its_consumer_is_not_reset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A serial decoder without registers is not ready in the first cycle in which its output is valid."""
    fault, _ = REFRESH_FAULTS["a reset while a beat is at the output"]
    inject(monkeypatch, Refresh, fault)
    (result,) = prove(CONFIGURATIONS["serial-0-refresh"], "steady")
    assert result.proved is False
    result.counterexample.write(tmp_path)
    regression = runpy.run_path(str(tmp_path / "test_serial_0_refresh_steady.py"))["test_serial_0_refresh_steady"]
    with pytest.raises((AssertionError, ContractError)):
        regression()
    monkeypatch.undo()
    regression()


@pytest.mark.parametrize(
    ("pipeline", "wanted"),
    [
        (0, "steady"),
        (2, "independence"),
        *(
            pytest.param(*each, marks=pytest.mark.proof)
            for each in (
                (0, "equivalence"),
                (0, "independence"),
                (1, "equivalence"),
                (1, "steady"),
                (1, "independence"),
                (2, "steady"),
            )
        ),
    ],
)
def test_a_serial_decoder_with_a_refresh_is_proved(pipeline: int, wanted: str) -> None:
    assert [result.verdict for result in prove(CONFIGURATIONS[f"serial-{pipeline}-refresh"], wanted)] == ["proved"]


WIRING_FAULTS: dict[str, tuple[Fault, str]] = {
    "the decoder accepts a beat while the input is closed": (
        combinational(lambda r: r.decoder.input.valid.eq(r.input.valid)),
        "passes",
    ),
    "the input is ready while it is closed": (
        combinational(lambda r: r.input.ready.eq(r.decoder.input.ready)),
        "passes",
    ),
    "the decoder is not reset": (
        combinational(lambda _: ResetSignal("refreshed").eq(ResetSignal(allow_reset_less=True))),
        "passes",
    ),
    "offered is stuck at 0": (combinational(lambda r: r.refresh.offered.eq(0)), "harmless"),
    "last is stuck at 1": (combinational(lambda r: r.refresh.last.eq(1)), "harmless"),
    "keep is stuck at 1": (combinational(lambda r: r.refresh.keep.eq(1)), "closes"),
    "keep is that of the first lane": (combinational(lambda r: r.refresh.keep.eq(r.input.payload.keep[0])), "harmless"),
    "able is stuck at 1": (combinational(lambda r: r.refresh.able.eq(1)), "harmless"),
    "shows is stuck at 0": (combinational(lambda r: r.refresh.shows.eq(0)), "harmless"),
    "wanted is stuck at 1": (combinational(lambda r: r.refresh.wanted.eq(1)), "harmless"),
}
"""Faults in the connections of a `RefreshedDecoder`, and the question that rejects each."""


@pytest.mark.parametrize(("fault", "question"), first_of_each(WIRING_FAULTS))
def test_the_generated_wiring_is_the_proved_wiring(
    monkeypatch: pytest.MonkeyPatch, fault: Fault, question: str
) -> None:
    """A fault in it changes the generated design and is rejected by the proof."""
    generated = axi_rtlil(decoder_core(refresh=16))
    inject(monkeypatch, RefreshedDecoder, fault)
    assert axi_rtlil(decoder_core(refresh=16)) != generated
    assert prove_refresh(Refresh(16), asked=[question])[question].proved is False


# With a decoder.


@pytest.mark.smoke
@pytest.mark.parametrize(("lanes", "packed"), [(1, False), (2, False), (4, True)])
def test_every_packet_is_decoded_in_simulation(lanes: int, packed: bool) -> None:
    """Back-to-back packets, with a reset after each."""
    decoder = decoder_core(lanes=lanes, packed=packed, kind=True, length=True)
    simulation = Simulation(RefreshedDecoder(decoder, Refresh(1)))
    run = simulation.run(TEXTS, input_pauses=[False] * 5 + [True], output_pauses=[False] * 3 + [True])
    assert run.texts == [list(decode(text)) for text in TEXTS]
    # Each packet but the first waits for that many cycles without a beat.
    assert run.cycles > STILL * (len(TEXTS) - 1)


class Registered(wiring.Component):
    """A refreshed decoder with registers of the same domain at its input and at its output."""

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
def test_registers_around_a_refreshed_decoder_see_the_same_clock_edges(pipeline: int) -> None:
    """Each character is delayed by as many cycles as there are registers on its path."""
    refreshed = RefreshedDecoder(decoder_core(pipeline=pipeline), Refresh(100))
    design, given = Registered(refreshed), []

    async def bench(ctx: Any) -> None:
        for unit in range(0x41, 0x61):
            ctx.set(design.unit, unit)
            await ctx.tick()
            given.append(ctx.get(design.given))

    run_benches(design, bench)
    expected = [0] * (1 + refreshed.latency) + list(range(0x41, 0x61))
    assert given == expected[: len(given)]
