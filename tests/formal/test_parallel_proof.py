# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of parallel decoders: that they hold, and that each of them fails for a decoder that it must refuse."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Const, Signal, Value

from utf8fpga.formal.abc import decide
from utf8fpga.formal.aiger import aig_of
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES
from utf8fpga.formal.parallel_proof import HALVES, prove_halves, prove_recovery
from utf8fpga.formal.properties import Property
from utf8fpga.formal.recovery_proof import WindowRecovery
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import ParallelDecoder, fan_out, memory_buffer, register_buffer
from utf8fpga.hdl.decoder import parallel
from utf8fpga.hdl.decoder.window import ItemWindow
from utf8fpga.hdl.decoder.window_logic import Beat, _Window
from utf8fpga.model import DFA, START, TABLE_3_7
from utf8fpga.model.forms import CESU_8_CODE_UNITS, GENERALISED_UTF_8, MODIFIED_UTF_8_CODE_UNITS, RFC_2279

QUICK = [
    *(("parallel-1", wanted) for wanted in PROPERTIES if wanted not in ("power-up", "recovery", "cover")),
    *(("parallel-4", wanted) for wanted in ("steady", "stall", "latency", "independence")),
    ("packed-2", "independence"),
]
"""Proved in every run."""

CHOSEN = [
    *product(("parallel-1", "parallel-4"), PROPERTIES),
    *product(("packed-2",), (*HALVES, "cover")),
    *product(("packed-2",), ("netlist-ice40", "netlist-ecp5")),
    ("parallel-1-full-no-replacement", "equivalence"),
    ("parallel-1-full-no-replacement", "recovery"),
    ("parallel-4-registers", "recovery"),
    *product(("parallel-2", "parallel-8"), ("equivalence", "latency")),
    *(
        (f"parallel-{name}", "equivalence")
        for name in ("4-full", "1-pipeline-6", "4-pipeline-0", "1-full-cesu-8-code-units")
    ),
]
"""Proved with the marker `proof`, of which CI takes a sample; `utf8fpga prove` proves all."""


@pytest.mark.parametrize(("name", "wanted"), QUICK)
def test_proved(name: str, wanted: str) -> None:
    assert [result.verdict for result in prove(CONFIGURATIONS[name], wanted) if not result.proved] == []


def test_a_result_names_the_components_that_are_proved() -> None:
    (result,) = prove(CONFIGURATIONS["parallel-1"], "latency")
    assert result.verdict == "proved (buffer-1-registers-pipeline-5)"
    assert result.as_dict()["parts"] == ("buffer-1-registers-pipeline-5",)


@pytest.mark.proof
@pytest.mark.parametrize(("name", "wanted"), [pair for pair in CHOSEN if pair not in QUICK])
def test_proved_of_more(name: str, wanted: str) -> None:
    assert [result.verdict for result in prove(CONFIGURATIONS[name], wanted) if not result.proved] == []


def test_the_window_of_a_parallel_decoder_may_be_as_long_as_a_sequence() -> None:
    """What `Slot` and the window rest on: the state does not depend on where the reading began."""
    for table in (TABLE_3_7, RFC_2279, GENERALISED_UTF_8, CESU_8_CODE_UNITS, MODIFIED_UTF_8_CODE_UNITS):
        dfa = DFA.of(table)
        for state in range(len(dfa.states)):
            _read_alike(dfa, {state, START}, table.longest - 1)


def _read_alike(dfa: DFA, states: set[int], units: int) -> None:
    """After that many units, whichever they are, two states have become one."""
    if len(states) == 1:
        return
    assert units, f"{states} stay apart"
    for unit_class in dfa.classes:
        unit = unit_class.ranges[0].first
        _read_alike(dfa, {_after(dfa, state, unit) for state in states}, units - 1)


def _after(dfa: DFA, state: int, unit: int) -> int:
    after = dfa.step(state, unit)
    return max(after if after >= 0 else dfa.step(START, unit), START)


@pytest.mark.exhaustive
@pytest.mark.parametrize("wanted", ["equivalence", "latency"])
def test_proved_for_three_lanes(wanted: str) -> None:
    test_proved("parallel-3", wanted)


# Decoders that must be refused.


def refused(wanted: str, *, lanes: int, pipeline: int = 0, **options: Any) -> list[str]:
    """What fails of an induction."""
    found = prove_halves(
        lambda: ParallelDecoder(lanes=lanes, pipeline=pipeline, **options), TABLE_3_7, Property(wanted), seconds=1200
    )
    assert found.asked
    assert not found.undecided
    return found.failed


@pytest.mark.proof
def test_what_is_right_is_not_refused() -> None:
    for wanted in HALVES:
        assert refused(wanted, lanes=2) == []


def no_pair_open(self: _Window, lane: int) -> Value:
    """A sequence whose second unit has come counts as closed."""
    return self.beat.at("opens", lane)


def trail_is_enough(self: _Window, n: int, lane: int) -> Value:
    """Any trailing unit is second to any lead."""
    leads = [name for name, (length, _) in self.leads.items() if length == n]
    return self.beat.at("trail", lane) & self._any(leads, lane - 1)


def text_goes_on(self: _Window, lane: int) -> Value:
    """The end of a text is forgotten."""
    return self.control.is_trail(self.beat.values["unit"][lane]) & self.beat.values["keep"][lane]


MORE_WRONG_WINDOWS = [("_second", trail_is_enough), ("_trail", text_goes_on)]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_is_open", no_pair_open),
        *(pytest.param(*wrong, marks=pytest.mark.exhaustive) for wrong in MORE_WRONG_WINDOWS),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
@pytest.mark.parametrize("lanes", [1, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_a_wrong_window_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Callable[..., Value], lanes: int
) -> None:
    monkeypatch.setattr(_Window, name, wrong)
    failed = refused("equivalence", lanes=lanes)
    assert any(question.startswith("window step") for question in failed)


@pytest.mark.proof
def test_a_wrong_window_gives_a_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Window, "_second", trail_is_enough)
    (result,) = prove(CONFIGURATIONS["parallel-4-pipeline-0"], "equivalence", seconds=1200)
    assert (result.proved, result.method, result.verdict) == (False, "trace", "FAILED")
    found = result.counterexample
    assert found is not None
    assert found.given != found.expected
    assert "in simulation: " in "\n".join(found.lines())


def forgets(self: ItemWindow, contents: Any, goes_on: Value, next_unit: Value, next_keep: Value) -> Value:
    """A sequence that continues in the next beat counts as broken."""
    return ITEM(self, contents, Const(0, 1), next_unit, next_keep)


ITEM = ItemWindow.item


@pytest.mark.parametrize(
    "lanes", [pytest.param(2, marks=pytest.mark.proof), pytest.param(4, marks=pytest.mark.exhaustive)]
)
def test_a_wrong_last_lane_is_refused(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    monkeypatch.setattr(ItemWindow, "item", forgets)
    failed = refused("equivalence", lanes=lanes)
    assert any(question.startswith("window step") for question in failed)


@pytest.mark.parametrize("lanes", [2, 4])
def test_a_promise_of_a_shorter_latency_is_refused(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    latency = ParallelDecoder(lanes=lanes).latency
    monkeypatch.setattr(ParallelDecoder, "latency", latency - 1)
    assert refused("latency", lanes=lanes, pipeline=5)[0] == f"{latency} cycles, not {latency - 1}"


@pytest.mark.proof
def test_another_table_is_refused() -> None:
    found = prove_halves(lambda: ParallelDecoder(GENERALISED_UTF_8, lanes=1), TABLE_3_7, Property.EQUIVALENCE)
    assert found.failed


BROKEN = {
    "a count that does not fall": ("Mux(self.grows, below, above)", "Mux(self.grows, below, bit)", 4),
    "a count that rises when it should stay": ("self.changes.eq(up ^ down)", "self.changes.eq(up | down)", 4),
    "room for a fourth at the front": ("~self.two | (~self.odd & ~arrives)", "~self.two | ~self.odd", 4),
    "one that leaves is not counted": ("odd.eq(odd ^ arrives ^ leaves)", "odd.eq(odd ^ arrives)", 4),
    "reading goes on by itself": ("(following & self.valid) | (bit & ~self.valid)", "following", 4),
    "a row that is not kept": ("with m.If(self.advance):", "with m.If(self.advance & self.valid):", 4),
    "pointers that are not reset": ("m.d.sync += [write.eq(write.init), read.eq(read.init)]", "pass", 4),
    "counts that are not reset": ("m.d.sync += level.eq(0)", "pass", 4),
    "a reset that is over too soon": ("self.busy.eq(~quiet[-1])", "self.busy.eq(~quiet[0])", 4),
    "more than the memory holds": ("CAPACITY - _UNCOUNTED]", "CAPACITY - 1]", 4),
    "a beat that is in and not counted": ("inside.up.eq(self.accepted)", "inside.up.eq(self.accepted & ~valid)", 4),
    "too many come to the front": ("Mux(arrives, behind.more_than[1], behind.more_than[0])", "behind.more_than[0]", 4),
    "a group of lanes with the item of another": ("at = end", "at = 0", 8),
    "a third beat over one that waits": ("(turn & ~self.full)", "turn", 2),
    "a beat that does not hold still": ("(word & loads) | (register & ~loads)", "word", 2),
    "always on": ("ready | ~self.valid | (run & ~offered)", "ready | ~self.valid | run", 2),
}
"""Changes to the source of the buffers, and for how many lanes."""

SOON = ("a beat that does not hold still",)
"""Tried in every run; the others take longer."""


def change(monkeypatch: pytest.MonkeyPatch, old: str, new: str, *modules: types.ModuleType) -> None:
    """One change of the source of a component, in the one of the modules (the buffers') that has it once."""
    modules = modules or (memory_buffer, register_buffer, fan_out)
    (module,) = (each for each in modules if inspect.getsource(each).count(old) == 1)
    made = types.ModuleType("changed")
    made.__dict__["__name__"] = module.__name__
    exec(compile(inspect.getsource(module).replace(old, new), "changed", "exec"), made.__dict__)
    for name, found in list(vars(module).items()):
        if not isinstance(found, type) or found.__module__ != module.__name__:
            continue
        # The class stays the same, for those that ask for it; so its `__init__`, which names it, is not replaced.
        for method, function in vars(getattr(made, name)).items():
            if inspect.isfunction(function) and method != "__init__":
                monkeypatch.setattr(found, method, function)


@pytest.mark.parametrize(
    ("old", "new", "lanes"),
    [
        pytest.param(*found, id=name, marks=[] if name in SOON else [pytest.mark.proof])
        for name, found in BROKEN.items()
    ],
)
def test_a_wrong_buffer_is_refused(monkeypatch: pytest.MonkeyPatch, old: str, new: str, lanes: int) -> None:
    change(monkeypatch, old, new)
    # The order of items is no matter of the contract of the streams.
    failed = refused("steady" if lanes < 8 else "equivalence", lanes=lanes)
    assert any(question.startswith("buffer ") for question in failed)


@pytest.mark.proof
@pytest.mark.parametrize("lanes", [2, 4])
def test_a_source_that_is_not_changed_is_not_refused(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    """It makes the same design, word for word."""

    def design() -> str:
        decoder = ParallelDecoder(lanes=lanes, pipeline=0)
        return str(rtlil.convert(decoder, emit_src=False))

    before = design()
    change(monkeypatch, "odd.eq(odd ^ arrives ^ leaves)", "odd.eq(odd ^ arrives ^ leaves)")
    change(monkeypatch, "(word & loads) | (register & ~loads)", "(word & loads) | (register & ~loads)")
    change(monkeypatch, "buffer.row.eq(window.row)", "buffer.row.eq(window.row)", parallel)
    assert design() == before


DISCONNECTED = {
    "a row for a tail": ("buffer.row_valid.eq(window.row_valid)", "buffer.row_valid.eq(window.tail_valid)", 4),
    "no late reset": ("window.late_reset.eq(buffer.late_reset)", "window.late_reset.eq(0)", 4),
    "a beat that is not counted": (
        "buffer.accepted.eq(is_effective(window.input))",
        "buffer.accepted.eq(window.input.valid)",
        4,
    ),
    "a beat while there is no room": ("self.input.valid & buffer.ready", "self.input.valid", 4),
    "one stage that does not pause": ("window.run.eq(buffer.run)", "window.run.eq(buffer.run | 2)", 2),
    "no beat enters": ("buffer.entry_valid.eq(window.slots_valid)", "buffer.entry_valid.eq(0)", 2),
}
"""Changes to what connects a window and its buffer, and for how many lanes."""


@pytest.mark.parametrize(
    ("old", "new", "lanes"),
    [
        pytest.param(*found, id=name, marks=[] if name == "no beat enters" else [pytest.mark.proof])
        for name, found in DISCONNECTED.items()
    ],
)
def test_wrong_connections_are_refused(monkeypatch: pytest.MonkeyPatch, old: str, new: str, lanes: int) -> None:
    change(monkeypatch, old, new, parallel)
    assert refused("steady", lanes=lanes) == ["connections"]


@pytest.mark.proof
def test_a_window_that_is_not_reset_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, "self.late_reset.eq(Cat(*resets[:2]))", "self.late_reset.eq(0)")
    failed = refused("equivalence", lanes=4)
    assert any(question.startswith("window reset") for question in failed)


@pytest.mark.parametrize("less", [7, pytest.param(9, marks=pytest.mark.proof)])
def test_a_decoder_that_stalls_by_itself_is_refused(monkeypatch: pytest.MonkeyPatch, less: int) -> None:
    change(monkeypatch, "CAPACITY - _UNCOUNTED]", f"CAPACITY - {less}]")
    assert "buffer held stall" in refused("stall", lanes=4, pipeline=6)


# Recovery.


KEEPS = {
    "full while nothing is shown": (
        "~ready & self.valid & (self.full | offered)",
        "~ready & (self.full | (self.valid & offered))",
    ),
    "full for ever": ("~ready & self.valid & (self.full | offered)", "self.full | (~ready & self.valid & offered)"),
    "copies that stay apart": ("ready | ~self.valid | (run & ~offered)", "run & (ready | ~self.valid | ~offered)"),
}
"""Changes after which some contents of the control would last, that a reset does away with."""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(*found, id=name, marks=[pytest.mark.proof] * (n > 0))
        for n, (name, found) in enumerate(KEEPS.items())
    ],
)
def test_control_that_does_not_recover_is_refused(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    change(monkeypatch, old, new)
    assert prove_recovery(lambda: ParallelDecoder(lanes=2, pipeline=0)).proved is False


@pytest.mark.parametrize(
    ("units", "recovers"),
    [
        (2, False),
        (3, True),
        *(pytest.param(*each, marks=pytest.mark.proof) for each in ((1, False), (4, True))),
    ],
)
def test_one_unit_less_than_a_sequence_must_have_come(units: int, recovers: bool) -> None:
    """The last unit of the longest sequence is right or wrong by the three before it."""
    proof = WindowRecovery(lambda: ParallelDecoder(lanes=1, pipeline=0), units=units)
    aig = aig_of(rtlil.convert(proof, name="top", ports=proof.ports), free=True)
    assert decide({"window": (aig, aig.output_bits["bad"][0])})["window"].proved is recovers


@pytest.mark.parametrize("lanes", [1, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_a_register_that_stays_is_refused(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    """Once it says so, wrong units are no errors any more."""
    contents = ItemWindow.contents

    def muted(self: ItemWindow, beat: Beat, lane: int) -> dict[str, Value]:
        found, mute = contents(self, beat, lane), Signal(reset_less=True)
        beat.registers.add(mute.eq(mute))
        return found | {"error": found["error"] & ~mute}

    monkeypatch.setattr(ItemWindow, "contents", muted)
    assert prove_recovery(lambda: ParallelDecoder(lanes=lanes, pipeline=0)).proved is False
