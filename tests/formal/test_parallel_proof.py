# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of parallel decoders and of packed ones without a buffer: they succeed, and reject decoders with a fault.

Those of packed decoders are about 4 lanes.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Value
from support.decoders import sparse_decoder
from support.faults import Fault, combinational, inject, promise, registered
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES
from utf8fpga.formal.parallel_proof import HALVES, Induction, prove_halves
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import ParallelDecoder, memory_buffer
from utf8fpga.hdl.decoder.window import ItemWindow
from utf8fpga.hdl.decoder.window_logic import Window, any_of
from utf8fpga.hdl.fan_out import LateReset
from utf8fpga.hdl.memory_buffer import Front, LaneMemory, Level, MemoryBuffer, step_pointer
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.hdl.sliced_buffer import SliceControl, SlicedBuffer
from utf8fpga.model import DFA, START, TABLE_3_7
from utf8fpga.model.forms import GENERALISED_UTF_8, RFC_2279

QUICK = [("parallel-2", wanted) for wanted in ("steady", "stall", "latency")]
"""Proved in every run."""

CHOSEN = [
    *product(("parallel-2", "parallel-4"), PROPERTIES),
    *product(("packed-2",), (*HALVES, "cover", "independence")),
    *product(("packed-2",), ("netlist-ice40", "netlist-ecp5")),
    *product(("parallel-8",), ("equivalence", "latency")),
    *((f"parallel-{name}", "equivalence") for name in ("4-kind", "4-area", "4-kind-rfc-2279")),
]
"""Proved with the marker `proof`; `utf8fpga prove` proves all configurations."""


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("name", "wanted"),
    tiered({"-".join(pair): pair for pair in [*QUICK, *CHOSEN]}, len(QUICK), tier=pytest.mark.proof),
)
def test_proved(name: str, wanted: str) -> None:
    assert [result.verdict for result in prove(CONFIGURATIONS[name], wanted) if not result.proved] == []


def test_a_result_names_the_components_that_are_proved() -> None:
    (result,) = prove(CONFIGURATIONS["parallel-2"], "latency")
    assert result.verdict == "proved (buffer-2-speed)"
    assert result.as_dict()["parts"] == ("buffer-2-speed",)


def test_the_state_depends_on_no_more_units_than_a_sequence_has() -> None:
    """The window relies on it: after that many units the state does not depend on the state before them."""
    for table in (TABLE_3_7, RFC_2279, GENERALISED_UTF_8):
        dfa = DFA.of(table)
        for state in range(len(dfa.states)):
            _check_same_state(dfa, {state, START}, table.longest - 1)


def _check_same_state(dfa: DFA, states: set[int], units: int) -> None:
    """Check that after that many units, whichever they are, the state is the same from each of these states."""
    if len(states) == 1:
        return
    assert units, f"states {states} are still different"
    for unit_class in dfa.classes:
        unit = unit_class.ranges[0].first
        _check_same_state(dfa, {_after(dfa, state, unit) for state in states}, units - 1)


def _after(dfa: DFA, state: int, unit: int) -> int:
    after = dfa.step(state, unit)
    return max(after if after >= 0 else dfa.step(START, unit), START)


# Decoders that must be rejected.


def failed_questions(wanted: str, *, lanes: int, **options: Any) -> list[str]:
    """The questions of the induction that fail for the parallel decoder with these parameters."""
    build = partial(sparse_decoder, lanes=lanes, **(options or {"optimize": "area"}))
    return failures(prove_halves(build, TABLE_3_7, Property(wanted), seconds=1200))


def failures(found: Induction) -> list[str]:
    assert found.asked
    assert not found.undecided
    return found.failed


def not_open_after_two_units(self: Window, lane: int) -> Value:
    """A sequence counts as closed from its second unit on."""
    return self._opens[lane]


def any_trail_after_any_lead(self: Window, n: int, lane: int) -> Value:
    """Any trailing unit is the second unit after any lead."""
    return self.trail[lane] & any_of(lead[lane - 1] for lead in self._leads[n])


def continues_across_packets(self: Window, lane: int) -> Value:
    """A trailing unit continues a sequence of the packet before; without pauses it never does, since none is left."""
    return self.control.serial.is_trail(self.unit[lane]) & self.keep[lane]


CORRECT_ITEM = ItemWindow.item


def never_continues(self: ItemWindow, contents: Any, goes_on: Value, *rest: Any) -> Value:
    """A sequence that continues in the next beat counts as broken."""
    return CORRECT_ITEM(self, contents, Const(0, 1), *rest)


REPLACED: dict[str, tuple[Any, str, Any, str, dict[str, Any], str]] = {
    "open": (Window, "_is_open", not_open_after_two_units, "equivalence", {"lanes": 2}, "window step"),
    "second": (Window, "_second", any_trail_after_any_lead, "equivalence", {"lanes": 2}, "window step"),
    "trail": (Window, "_trail", continues_across_packets, "equivalence", {"lanes": 2}, "window step"),
    "broken at the end of a beat": (ItemWindow, "item", never_continues, "equivalence", {"lanes": 2}, "window step"),
    "room for a fourth beat at the front": (
        *(Front, "room", lambda front, arrives: ~front.two | ~front.odd, "steady", {"lanes": 4}, "buffer "),
    ),
    "room for more beats than the memory holds": (memory_buffer, "UNCOUNTED", 1, "steady", {"lanes": 4}, "buffer "),
} | {
    f"stalls although no beat waits, {uncounted}": (
        *(memory_buffer, "UNCOUNTED", uncounted, "stall"),
        *({"lanes": 4, "fastest": True}, "buffer held stall"),
    )
    for uncounted in (7, 9)
}
"""What is replaced by what, the property, the decoder, and the beginning of the name of a question that fails."""


@pytest.mark.proof
@pytest.mark.parametrize("case", REPLACED)
def test_a_decoder_with_a_replaced_part_is_rejected(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    where, name, wrong, wanted, options, question = REPLACED[case]
    monkeypatch.setattr(where, name, wrong)
    assert any(failed.startswith(question) for failed in failed_questions(wanted, **options))


@pytest.mark.proof
def test_a_window_with_a_fault_gives_a_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Window, "_second", any_trail_after_any_lead)
    (result,) = prove(CONFIGURATIONS["parallel-4-area"], "equivalence", seconds=1200)
    assert (result.proved, result.method, result.verdict) == (False, "trace", "FAILED")
    found = result.counterexample
    assert found is not None
    assert found.given != found.expected
    assert "in simulation: " in "\n".join(found.lines())


@pytest.mark.parametrize("lanes", [2, 4])
def test_a_latency_that_is_too_low_is_rejected(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    build = partial(sparse_decoder, lanes=lanes, fastest=True)
    latency = build().latency
    promise(monkeypatch, ParallelDecoder, latency=latency - 1)
    assert prove_halves(build, TABLE_3_7, Property.LATENCY).failed == [f"{latency} cycles, not {latency - 1}"]


@pytest.mark.proof
def test_a_decoder_of_another_table_is_rejected() -> None:
    wrong, wanted = GENERALISED_UTF_8, Property.EQUIVALENCE
    assert prove_halves(lambda: sparse_decoder(wrong, lanes=2), TABLE_3_7, wanted).failed


def third_beat_replaces_one_that_waits(m: Module, buffer: Any) -> None:
    """The register in turn is loaded even if the buffer is full."""
    first, second = buffer.words
    with m.If(buffer.second):
        m.d.sync += first.eq(buffer.entry)
    with m.Else():
        m.d.sync += second.eq(buffer.entry)


BUFFER_FAULTS: dict[str, tuple[type[Any], Fault, int]] = {
    "a count does not fall": (
        Level,
        registered(lambda level: level.bits.eq(level.bits), when=lambda level: ~level.grows & ~level.reset),
        4,
    ),
    "a transferred beat still counts as at the front": (
        Front,
        registered(lambda front: front.odd.eq(front.odd ^ front.arrives)),
        4,
    ),
    "the read pointer advances without a beat": (
        LaneMemory,
        registered(
            lambda lanes: lanes.read.eq(step_pointer(lanes.read)), when=lambda lanes: lanes.ready & ~lanes.reset
        ),
        4,
    ),
    "pointers are not reset": (
        MemoryBuffer,
        combinational(lambda buffer: [lanes.reset.eq(0) for lanes in buffer.memories]),
        4,
    ),
    "counts are not reset": (
        MemoryBuffer,
        combinational(lambda buffer: [buffer.inside.reset.eq(0), buffer.behind.reset.eq(0)]),
        4,
    ),
    "the count at the front is not reset": (MemoryBuffer, combinational(lambda buffer: buffer.front.reset.eq(0)), 4),
    "a reset ends too early": (LateReset, combinational(lambda reset: reset.busy.eq(~reset.quiet[0])), 4),
    "a group of lanes has the items of another": (
        MemoryBuffer,
        combinational(
            lambda buffer: buffer.memories[1].entry.eq(Value.cast(buffer.row)[: len(buffer.memories[1].entry)])
        ),
        8,
    ),
    "a third beat replaces one that waits": (RegisterBuffer, third_beat_replaces_one_that_waits, 2),
    "a beat that waits changes": (
        RegisterBuffer,
        registered(lambda buffer: [word.eq(buffer.entry) for word in buffer.words]),
        2,
    ),
    "the pipeline never pauses": (
        RegisterBuffer,
        registered(lambda buffer: [run.eq(buffer.output.ready | ~buffer.valid | run) for run in buffer.runs]),
        2,
    ),
}
"""Faults in a component of a buffer, and the number of lanes of the decoder."""


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("component", "fault", "lanes"), tiered(BUFFER_FAULTS, ["a beat that waits changes"], tier=pytest.mark.proof)
)
def test_a_buffer_with_a_fault_is_rejected(
    monkeypatch: pytest.MonkeyPatch, component: type[Any], fault: Fault, lanes: int
) -> None:
    inject(monkeypatch, component, fault)
    # The contract of the streams says nothing about the order of items.
    failed = failed_questions("steady" if lanes < 8 else "equivalence", lanes=lanes)
    assert any(question.startswith("buffer ") for question in failed)


SLICE_FAULTS: dict[str, tuple[type[Any], Fault]] = {
    "a row behind the front is ignored": (
        SliceControl,
        registered(lambda control: control.more.eq(control.arrives), when=lambda control: ~control.reset),
    ),
    "a slice is not reset": (SlicedBuffer, combinational(lambda buffer: buffer.slices[0].reset.eq(0))),
}
"""Faults in a buffer with slices."""


@pytest.mark.proof
@pytest.mark.parametrize(("component", "fault"), SLICE_FAULTS.values(), ids=list(SLICE_FAULTS))
def test_slices_with_a_fault_are_rejected(monkeypatch: pytest.MonkeyPatch, component: type[Any], fault: Fault) -> None:
    inject(monkeypatch, component, fault)
    failed = failed_questions("steady", lanes=32)
    assert any(question.startswith("buffer ") for question in failed)


@pytest.mark.proof
def test_a_window_that_is_not_reset_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, MemoryBuffer, combinational(lambda buffer: buffer.late_reset.eq(0)))
    failed = failed_questions("equivalence", lanes=4)
    assert any(question.startswith("window reset") for question in failed)
