# SPDX-License-Identifier: BSD-2-Clause
"""The proofs succeed, and refute cores with a fault by a trace that replays in simulation."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Mux, Signal
from support.faults import combinational, delay_bounds, inject, lose_flags, promise
from support.faulty_cores import PortFault, broken_decoder, valid_is_deasserted_while_waiting
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.report import Result
from utf8fpga.formal.runner import prove
from utf8fpga.formal.sparse_proof import SparseProof
from utf8fpga.hdl import (
    DecoderParameters,
    EncoderParameters,
    ParallelDecoder,
    Sanitizer,
    TranscoderParameters,
    build,
    fifo,
)
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.decoder.window_logic import WindowControl
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.packer.places import OpenRow
from utf8fpga.hdl.payloads import Kind
from utf8fpga.model import TABLE_3_7, UTF_16, EncodingTable
from utf8fpga.model.forms import GENERALISED_UTF_8, RFC_2279
from utf8fpga.sim.harness import Property

ALL = [str(wanted) for wanted in Property]
QUICK = ["serial-area", "parallel-2", "encoder-utf-16-le", "sanitizer"]
"""Proved in every run."""
CHOSEN = [
    *("serial-speed-kind", "parallel-4-kind", "parallel-8", "packed-2-kind", "packed-2-area", "packed-2-utf-16"),
    *("encoder", "transcoder-utf-8-to-utf-8-area"),
]

Fault = Callable[[pytest.MonkeyPatch], None]


def unproved(results: list[Result]) -> list[str]:
    return [f"{result.wanted}: {result.verdict}" for result in results if not result.proved]


@pytest.mark.smoke
@pytest.mark.parametrize("name", tiered({name: name for name in [*QUICK, *CHOSEN]}, QUICK, tier=pytest.mark.proof))
def test_proved(name: str) -> None:
    results = prove(CONFIGURATIONS[name], *ALL)
    assert unproved(results) == []
    assert {result.wanted for result in results} >= {"equivalence", "steady", "independence"}


@pytest.mark.proof
@pytest.mark.parametrize("optimize", ["area", "speed"])
@pytest.mark.parametrize("table", [TABLE_3_7, RFC_2279, GENERALISED_UTF_8, UTF_16], ids=lambda table: table.name)
def test_sparse_decoders_of_each_table_are_proved(table: EncodingTable, optimize: str) -> None:
    parameters = DecoderParameters(table=table, lanes=3, packed=False, optimize=optimize, kind=True)
    assert SparseProof(build(parameters)).unproved() == []


def test_a_core_without_a_proof_has_no_results() -> None:
    assert prove(Configuration.of(EncoderParameters(lanes=2)), *ALL) == []


# Faults at the ports of a serial decoder.


def an_end_twice(m: Module, outer: Any, inner: Any) -> None:
    """Two consecutive ends of texts appear as three at the output."""
    again = Signal()
    ended = Signal()
    item = outer.output
    with m.If(item.valid & item.ready):
        m.d.sync += [ended.eq(item.payload.last), again.eq(ended & item.payload.last & ~again)]
    with m.If(again):
        m.d.comb += [item.valid.eq(1), item.payload.keep.eq(0), item.payload.last.eq(1), inner.output.ready.eq(0)]
        m.d.comb += item.payload.symbols[0].error.eq(0)


def a_wrong_item_after_an_error(m: Module, outer: Any, inner: Any) -> None:
    """The first item after a text that ended in an error is wrong."""
    marked, first = Signal(), Signal(init=1)
    item = outer.output
    with m.If(item.valid & item.ready):
        m.d.sync += [first.eq(item.payload.last), marked.eq(item.payload.last & item.payload.symbols[0].error)]
    with m.If(first & marked & item.payload.keep):
        m.d.comb += item.payload.symbols[0].code_point.eq(inner.output.payload.symbols[0].code_point ^ 1)


def a_surrogate_called_overlong(m: Module, outer: Any, inner: Any) -> None:
    kind = inner.output.payload.symbols[0].kind
    m.d.comb += outer.output.payload.symbols[0].kind.eq(Mux(kind == Kind.SURROGATE, Kind.OVERLONG, kind))


SERIAL_FAULTS: dict[str, tuple[PortFault, str]] = {
    "an end twice": (an_end_twice, "equivalence"),
    "a wrong item after an error": (a_wrong_item_after_an_error, "equivalence"),
    "a surrogate called overlong": (a_surrogate_called_overlong, "equivalence"),
    "valid is deasserted": (valid_is_deasserted_while_waiting, "steady"),
}


@pytest.mark.parametrize(
    ("fault", "wanted"), tiered(SERIAL_FAULTS, ["an end twice", "valid is deasserted"], tier=pytest.mark.proof)
)
def test_a_serial_decoder_with_a_fault_is_refuted(fault: PortFault, wanted: str) -> None:
    (result,) = prove(broken_decoder(fault, kind=fault is a_surrogate_called_overlong), wanted)
    assert (result.proved, result.method, result.verdict) == (False, "trace", "FAILED")
    assert result.counterexample is not None
    assert result.counterexample.lines()[0].startswith(f"broken: {wanted} fails in ")


def test_one_wrong_row_gives_a_counterexample() -> None:
    rows = [str(row).replace("U+", "").replace(" as ", " ") for row in TABLE_3_7.rows]
    rows[4] = "D000..D7BF ED 80..9E 80..BF"
    table = EncodingTable.parse("wrong", "\n".join(rows), source="a test")
    right = CONFIGURATIONS["serial-area"]
    (result,) = prove(replace(right, name="wrong-row", table=table, right=TABLE_3_7), "equivalence")
    assert result.counterexample is not None
    assert result.counterexample.given != result.counterexample.expected


def test_one_wrong_comparison_gives_a_counterexample_and_a_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Any trailing unit continues any open sequence.
    SerialControl.of.cache_clear()
    monkeypatch.setattr(SerialControl, "allows", SerialControl.is_trail)
    (result,) = prove(CONFIGURATIONS["serial-area"], "equivalence")
    found = result.counterexample
    assert found is not None
    assert found.given != found.expected
    lines = "\n".join(found.lines())
    assert "in simulation: the items differ" in lines
    assert found.texts[0][0] in bytes.fromhex(lines.split("text 1")[1].split("\n")[0])
    _, test = found.write(tmp_path)
    # The regression test fails while the comparison is wrong, and passes once it is corrected.
    regression = runpy.run_path(str(test))["test_serial_area_equivalence"]
    with pytest.raises(AssertionError):
        regression()
    monkeypatch.undo()
    SerialControl.of.cache_clear()
    regression()


# Faults in the parts of other cores.


def every_lead_allows_every_trailing_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    allows = WindowControl.lead_allows
    monkeypatch.setattr(
        WindowControl, "lead_allows", lambda self, length: [lambda unit: Const(1, 1) for _ in allows(self, length)]
    )


def the_next_beat_continues_no_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Items, "_goes_on", lambda items: Const(0, items.lanes))


def a_duplicate_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second slice, which here has one lane, writes another row."""
    monkeypatch.setattr(fifo, "SLICE", 1)
    duplicate = fifo.duplicate
    monkeypatch.setattr(
        fifo, "duplicate", lambda name, *shape, init=0: duplicate(name, *shape, init=1 if name == "write_1" else init)
    )


def a_credit_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fifo, "UNCOUNTED", 0)


def a_dropped_beat_keeps_its_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, ParallelDecoder, combinational(lambda decoder: decoder.fifo.dropped.eq(0)))


def the_row_advances_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, fifo.Reader, combinational(lambda reader: reader.left.eq(reader.output_valid)))


def a_sequence_that_continues_in_the_next_beat_is_taken_for_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    is_open = Sanitizer._is_open
    monkeypatch.setattr(Sanitizer, "_is_open", lambda *given: is_open(*given) & 0)


def a_completed_sequence_reaches_one_unit_less(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Sanitizer._ends
    monkeypatch.setattr(Sanitizer, "_ends", lambda sanitizer: [*ends(sanitizer)[:-1], Const(0, sanitizer.lanes)])


def a_queue_takes_units_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, UnitQueue, combinational(lambda queue: queue.input.ready.eq(1)))


a_late_bound = partial(delay_bounds, bounds=(0x800, 0x10000))
"""The first code point of three bytes, or of a surrogate pair, is encoded like the one before."""


def a_word_in_the_wrong_row(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, Packer, combinational(lambda packer: packer.rows.wrapped.eq(0)))


def the_end_of_a_packet_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, Packer, combinational(lambda packer: packer.rows.last.eq(0)))


def a_beat_that_begins_no_row_keeps_its_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, OpenRow, combinational(lambda open_row: open_row.begins_none.eq(0)))


SPARSE, PACKED = CONFIGURATIONS["parallel-2"], CONFIGURATIONS["packed-2"]
SANITIZER = CONFIGURATIONS["sanitizer-2"]
ENCODER = Configuration.of(EncoderParameters(to="utf-16-le"))

FAULTS: dict[str, tuple[Configuration, Fault, str]] = {
    "lead class": (SPARSE, every_lead_allows_every_trailing_unit, "equivalence"),
    "next beat": (SPARSE, the_next_beat_continues_no_sequence, "equivalence"),
    "duplicate": (SPARSE, a_duplicate_differs, "equivalence"),
    "row": (SPARSE, the_row_advances_while_it_waits, "steady"),
    "credit too many": (SPARSE, a_credit_too_many, "steady"),
    "credit lost": (SPARSE, a_dropped_beat_keeps_its_credit, "stall"),
    "wrong row": (PACKED, a_word_in_the_wrong_row, "equivalence"),
    "lost end": (PACKED, the_end_of_a_packet_is_lost, "equivalence"),
    "packer's credit lost": (PACKED, a_beat_that_begins_no_row_keeps_its_credit, "stall"),
    "open sequence": (
        SANITIZER,
        a_sequence_that_continues_in_the_next_beat_is_taken_for_complete,
        "equivalence",
    ),
    "first unit": (SANITIZER, a_completed_sequence_reaches_one_unit_less, "equivalence"),
    "sanitizer's row": (SANITIZER, the_row_advances_while_it_waits, "steady"),
    "late bound": (ENCODER, a_late_bound, "equivalence"),
    "lost flags": (ENCODER, lose_flags, "equivalence"),
    "no room": (ENCODER, a_queue_takes_units_without_room, "equivalence"),
}
"""Cores with a fault, and the property that fails."""

UNSEEN = (a_dropped_beat_keeps_its_credit, a_beat_that_begins_no_row_keeps_its_credit, a_credit_too_many)
"""A simulation waits as long as it takes until the input is ready, and does not see all changes of a waiting row."""


@pytest.mark.parametrize(
    ("configuration", "fault", "wanted"), tiered(FAULTS, ["next beat", "late bound"], tier=pytest.mark.proof)
)
def test_a_fault_is_refuted_by_a_trace_that_replays(
    monkeypatch: pytest.MonkeyPatch, configuration: Configuration, fault: Fault, wanted: str
) -> None:
    fault(monkeypatch)
    (result,) = prove(configuration, wanted)
    assert (result.proved, result.method) == (False, "trace")
    assert result.counterexample is not None
    assert result.counterexample.reproduced or fault in UNSEEN


@pytest.mark.proof
@pytest.mark.parametrize("fault", [a_late_bound, lose_flags, a_queue_takes_units_without_room])
def test_a_transcoder_with_a_fault_is_not_proved(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    fault(monkeypatch)
    (result,) = prove(Configuration.of(TranscoderParameters(to="utf-16-le", optimize="area")), "equivalence")
    assert not result.proved


@pytest.mark.parametrize("configuration", [SPARSE, ENCODER], ids=lambda each: each.name)
def test_a_latency_that_is_too_low_is_rejected(monkeypatch: pytest.MonkeyPatch, configuration: Configuration) -> None:
    core = configuration.build()
    latency = core.latency
    promise(monkeypatch, type(core), latency=latency - 1)
    (result,) = prove(configuration, "latency")
    assert result.verdict == f"UNDECIDED ({latency} cycles, not {latency - 1})"
