# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a packed decoder without a buffer: it succeeds, and it rejects decoders with a fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Const, Value
from support.decoders import SMALL
from support.faults import Fault, combinational, inject, registered
from support.tiers import tiered

from utf8fpga.formal import runner
from utf8fpga.formal.catalogue import CONFIGURATIONS
from utf8fpga.formal.packer_proof import prove_packer
from utf8fpga.formal.parallel_proof import HALVES, Induction, prove_direct
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import DirectPackedDecoder, decoder_core
from utf8fpga.hdl.decoder.window import HeldWindow, ItemWindow
from utf8fpga.hdl.decoder.window_logic import Lanes, Window
from utf8fpga.hdl.packer import packer as packer_module
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.model.forms import GENERALISED_UTF_8


def failed_questions(wanted: str, table: EncodingTable = TABLE_3_7, **options: Any) -> list[str]:
    """The questions about the window that fail for the decoder with these parameters and 4 lanes."""
    found = prove_direct(lambda: decoder_core(table, lanes=4, **options), table, Property(wanted), seconds=1200)
    assert found.asked
    assert not found.undecided
    return found.failed


@pytest.mark.proof
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pipeline": 0},
        {"kind": True, "length": True},
        {"pipeline": 6, "buffer": "packer", "replacement": False},
    ],
    ids=str,
)
def test_the_window_of_a_correct_decoder_is_accepted(options: dict[str, Any]) -> None:
    for wanted in HALVES:
        assert failed_questions(wanted, **options) == []


def test_a_latency_that_is_too_low_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    core = decoder_core(SMALL, lanes=4)
    assert isinstance(core, DirectPackedDecoder)
    assert failed_questions("latency", SMALL) == []
    too_low = core.latency - 1
    monkeypatch.setattr(DirectPackedDecoder, "latency", too_low)
    found = f"{core.packer.ahead} + {core.packer.latency} cycles, not {too_low}"
    assert failed_questions("latency", SMALL) == [found]


@pytest.mark.exhaustive
@pytest.mark.parametrize("wanted", [*HALVES, Property.INDEPENDENCE, Property.COVER])
def test_proved(wanted: Property) -> None:
    assert [result.verdict for result in prove(CONFIGURATIONS["packed-4"], wanted) if not result.proved] == []


def test_without_a_proof_of_its_window_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "prove_direct", lambda *_, **__: Induction(asked=1, undecided=["window step"]))
    monkeypatch.delattr(runner, "prove_packer")  # It would take minutes.
    (result,) = prove(CONFIGURATIONS["packed-4"], Property.STEADY)
    assert (result.proved, result.parts) == (None, ("window-4",))


CONNECTION_FAULTS: dict[str, Fault] = {
    "no late reset of the window": combinational(lambda decoder: decoder.window.late_reset.eq(0)),
    "a beat is accepted while there is no room": combinational(
        lambda decoder: decoder.window.input.valid.eq(decoder.input.valid)
    ),
    "no beat enters the packer": combinational(lambda decoder: decoder.packer.sparse.valid.eq(0)),
    "lanes are exchanged": combinational(
        lambda decoder: decoder.packer.sparse.payload.symbols[0].eq(decoder.packer.sparse.payload.symbols[1])
    ),
}
"""Faults between window and packer."""


@pytest.mark.parametrize("fault", tiered(CONNECTION_FAULTS, ["no beat enters the packer"], tier=pytest.mark.proof))
def test_a_wrong_connection_is_rejected(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    inject(monkeypatch, DirectPackedDecoder, fault)
    assert failed_questions("steady", SMALL) == ["connections"]


WINDOW_FAULTS: dict[str, tuple[Fault, str]] = {
    "the last lane does not wait": (registered(lambda window: window.state.waiting.eq(0)), "window step"),
    "beats are output at once": (
        combinational(lambda window: window.state.valid.eq(window.state.waiting)),
        "window step",
    ),
    "items are not held": (
        registered(lambda window: window.state.items[0].eq(window.inner_item(window.state.beat, 0))),
        "window step",
    ),
    "a beat remains after a reset": (
        registered(lambda window: window.state.waiting.eq(window.state.beat.valid)),
        "window reset",
    ),
}
"""Faults in a window, and the beginning of the name of a question that fails."""


@pytest.mark.parametrize(("fault", "question"), tiered(WINDOW_FAULTS, ["items are not held"], tier=pytest.mark.proof))
def test_a_window_with_a_fault_is_rejected(monkeypatch: pytest.MonkeyPatch, fault: Fault, question: str) -> None:
    inject(monkeypatch, HeldWindow, fault)
    assert any(failed.startswith(question) for failed in failed_questions("equivalence", SMALL))


CORRECT_BEFORE = Window._before


def keeps_the_last_packet(self: Window, value: Lanes, lane: int, beats: int) -> Any:
    """The values of a beat are kept although it ends its packet."""
    stage = self.stage
    self.stages[-1] = replace(stage, last=Const(0, 1))
    kept = CORRECT_BEFORE(self, value, lane, beats)
    self.stages[-1] = stage
    return kept


CORRECT_ITEM = ItemWindow.item


def never_continues(self: ItemWindow, contents: Any, goes_on: Value, *rest: Any) -> Value:
    """A sequence that continues in the next beat counts as broken."""
    return CORRECT_ITEM(self, contents, Const(0, 1), *rest)


REPLACED = {
    "no late reset": (ItemWindow, "_reset_late", lambda self, m, late_reset: None, "window reset"),
    "a sequence continues across packets": (Window, "_before", keeps_the_last_packet, "window step"),
    "a sequence is broken at the end of a beat": (ItemWindow, "item", never_continues, "window step"),
}
"""What is replaced by what, and the beginning of the name of a question that fails."""


@pytest.mark.proof
@pytest.mark.parametrize(("where", "name", "wrong", "question"), REPLACED.values(), ids=REPLACED)
def test_a_window_with_a_replaced_part_is_rejected(
    monkeypatch: pytest.MonkeyPatch, where: type[Any], name: str, wrong: Any, question: str
) -> None:
    monkeypatch.setattr(where, name, wrong)
    assert any(failed.startswith(question) for failed in failed_questions("equivalence"))


@pytest.mark.proof
def test_a_decoder_of_another_table_is_rejected() -> None:
    found = prove_direct(
        lambda: decoder_core(GENERALISED_UTF_8, lanes=4), TABLE_3_7, Property.EQUIVALENCE, seconds=1200
    )
    assert found.failed


@pytest.mark.exhaustive
def test_a_packer_without_room_for_the_beats_in_front_of_it_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packer_module, "_MIN_DEPTH", 8)
    monkeypatch.setattr(packer_module, "_MORE_ROWS", -5)
    (result,) = prove_packer(4, "equivalence", ahead=5, lends=True)
    assert not result.proved
