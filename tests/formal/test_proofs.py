# SPDX-License-Identifier: BSD-2-Clause
"""The proofs succeed, and refute cores with a fault by a trace that replays in simulation."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Mux, Signal, Value
from support.faults import (
    a_dropped_beat_keeps_its_credit,
    a_lead_allows_the_second_units_of_another_one,
    a_lead_that_ends_a_beat_is_complete,
    a_queue_accepts_without_room,
    a_report_counts_each_unit_as_a_code_point,
    a_sequence_of_the_sanitizer_is_never_open,
    delay_bounds,
    inject,
    lose_flags,
    promise,
    the_end_of_a_packet_is_lost,
    the_row_of_the_packer_has_no_carry,
)
from support.faulty_cores import (
    PortFault,
    broken_decoder,
    payload_changes_while_waiting,
    valid_is_deasserted_while_waiting,
)
from support.replay import assert_replays
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.report import Result
from utf8fpga.formal.runner import prove
from utf8fpga.formal.sparse_proof import SparseProof
from utf8fpga.hdl import (
    DecoderParameters,
    EncoderParameters,
    TranscoderParameters,
    ValidatorTap,
    build,
    fifo,
)
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.packer.places import Places
from utf8fpga.hdl.payloads import Kind
from utf8fpga.hdl.sanitizer import Sanitizer
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


def last_comes_while_waiting(m: Module, outer: Any, inner: Any) -> None:
    waited = Signal()
    m.d.sync += waited.eq(inner.output.valid & ~outer.output.ready)
    m.d.comb += outer.output.payload.last.eq(inner.output.payload.last & waited)


def _close_while(m: Module, outer: Any, inner: Any, closed: Value) -> None:
    """No beat is transferred at the input."""
    with m.If(closed):
        m.d.comb += [outer.input.ready.eq(0), inner.input.valid.eq(0)]


def ready_in_every_second_cycle(m: Module, outer: Any, inner: Any) -> None:
    second = Signal()
    m.d.sync += second.eq(~second)
    _close_while(m, outer, inner, second)


def not_ready_after_an_error(m: Module, outer: Any, inner: Any) -> None:
    failed, output = Signal(), outer.output
    m.d.sync += failed.eq(output.valid & output.ready & output.payload.symbols[0].error)
    _close_while(m, outer, inner, failed)


def not_ready_for_a_null_beat(m: Module, outer: Any, inner: Any) -> None:
    _close_while(m, outer, inner, ~outer.input.payload.keep[0] & ~outer.input.payload.last)


def _hold_back(m: Module, outer: Any, inner: Any, held: Value) -> None:
    """An output beat is held back for a cycle, and one that waits is not."""
    waits, was_held = Signal(), Signal()
    m.d.sync += [waits.eq(outer.output.valid & ~outer.output.ready), was_held.eq(0)]
    with m.If(inner.output.valid & held & ~waits & ~was_held):
        m.d.comb += [outer.output.valid.eq(0), inner.output.ready.eq(0)]
        m.d.sync += was_held.eq(1)


def every_item_a_cycle_late(m: Module, outer: Any, inner: Any) -> None:
    _hold_back(m, outer, inner, Const(1, 1))


def errors_a_cycle_late(m: Module, outer: Any, inner: Any) -> None:
    _hold_back(m, outer, inner, inner.output.payload.symbols[0].error)


def ends_a_cycle_late(m: Module, outer: Any, inner: Any) -> None:
    _hold_back(m, outer, inner, inner.output.payload.last)


def valid_depends_on_ready(m: Module, outer: Any, inner: Any) -> None:
    m.d.comb += outer.output.valid.eq(inner.output.valid & outer.output.ready)


def last_depends_on_ready(m: Module, outer: Any, inner: Any) -> None:
    m.d.comb += outer.output.payload.last.eq(inner.output.payload.last & outer.output.ready)


def an_error_depends_on_ready(m: Module, outer: Any, inner: Any) -> None:
    error = inner.output.payload.symbols[0].error
    m.d.comb += outer.output.payload.symbols[0].error.eq(error & outer.output.ready)


SERIAL_FAULTS: dict[str, tuple[PortFault, ...]] = {
    "equivalence": (an_end_twice, a_wrong_item_after_an_error, a_surrogate_called_overlong),
    "steady": (valid_is_deasserted_while_waiting, payload_changes_while_waiting, last_comes_while_waiting),
    "stall": (ready_in_every_second_cycle, not_ready_after_an_error, not_ready_for_a_null_beat),
    "latency": (every_item_a_cycle_late, errors_a_cycle_late, ends_a_cycle_late),
    "independence": (valid_depends_on_ready, last_depends_on_ready, an_error_depends_on_ready),
}
"""By property three faults that break it."""

EACH_SERIAL = {fault.__name__: (fault, wanted) for wanted, faults in SERIAL_FAULTS.items() for fault in faults}
IN_EVERY_RUN = [*(faults[0].__name__ for faults in SERIAL_FAULTS.values()), "last_depends_on_ready"]


@pytest.mark.parametrize(("fault", "wanted"), tiered(EACH_SERIAL, IN_EVERY_RUN, tier=pytest.mark.proof))
def test_a_serial_decoder_with_a_fault_is_refuted(fault: PortFault, wanted: str) -> None:
    broken = broken_decoder(fault, kind=fault is a_surrogate_called_overlong)
    (result,) = prove(broken, wanted)
    assert (result.proved, result.verdict) == (False, "FAILED")
    if wanted != "independence":
        assert result.counterexample is not None
        assert result.counterexample.lines()[0].startswith(f"broken: {wanted} fails in ")
        assert_replays(broken.build(), result.counterexample.cycles[:-1])


def test_one_wrong_comparison_gives_a_counterexample_and_a_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Any trailing unit continues any open sequence.
    SerialControl.of.cache_clear()
    monkeypatch.setattr(SerialControl, "allows", property(lambda control: control.is_trail))
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


def a_duplicate_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second slice, which here has one lane, writes another row."""
    monkeypatch.setattr(fifo, "LANES_PER_POINTER", 1)
    duplicate = fifo.duplicate
    monkeypatch.setattr(
        fifo, "duplicate", lambda name, *shape, init=0: duplicate(name, *shape, init=1 if name == "write_1" else init)
    )


def a_credit_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fifo, "UNCOUNTED", 0)


def the_row_advances_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, fifo.Reader, lambda reader: reader.left.eq(reader.output_valid))


def a_completed_sequence_reaches_one_unit_less(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Sanitizer._ends
    monkeypatch.setattr(Sanitizer, "_ends", lambda sanitizer: [*ends(sanitizer)[:-1], Const(0, sanitizer.lanes)])


def an_offset_behind_the_units_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, ValidatorTap, lambda tap: Value.cast(tap.summary.backs).eq(0))


def the_last_error_of_a_packet_has_the_cause_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = Items._kinds
    monkeypatch.setattr(Items, "_kinds", lambda items, held: kinds(items, held | {"ends": Const(1)}))


a_late_bound = partial(delay_bounds, bounds=(0x800, 0x10000))
"""The first code point of three bytes, or of a surrogate pair, is encoded like the one before."""


def a_beat_that_begins_no_row_keeps_its_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, Places, lambda places: places.begins_none.eq(0))


SPARSE, PACKED = CONFIGURATIONS["parallel-2"], CONFIGURATIONS["packed-2"]
SANITIZER = CONFIGURATIONS["sanitizer-2"]
VALIDATOR = CONFIGURATIONS["validator"]
ENCODER = Configuration.of(EncoderParameters(to="utf-16-le"))

FAULTS: dict[str, tuple[Configuration, Fault, str]] = {
    "lead class": (SPARSE, a_lead_allows_the_second_units_of_another_one, "equivalence"),
    "next beat": (SPARSE, a_lead_that_ends_a_beat_is_complete, "equivalence"),
    "duplicate": (SPARSE, a_duplicate_differs, "equivalence"),
    "row": (SPARSE, the_row_advances_while_it_waits, "steady"),
    "credit too many": (SPARSE, a_credit_too_many, "steady"),
    "credit lost": (SPARSE, a_dropped_beat_keeps_its_credit, "stall"),
    "wrong row": (PACKED, the_row_of_the_packer_has_no_carry, "equivalence"),
    "lost end": (PACKED, the_end_of_a_packet_is_lost, "equivalence"),
    "packer's credit lost": (PACKED, a_beat_that_begins_no_row_keeps_its_credit, "stall"),
    "open sequence": (
        SANITIZER,
        a_sequence_of_the_sanitizer_is_never_open,
        "equivalence",
    ),
    "first unit": (SANITIZER, a_completed_sequence_reaches_one_unit_less, "equivalence"),
    "sanitizer's row": (SANITIZER, the_row_advances_while_it_waits, "steady"),
    "code points": (VALIDATOR, a_report_counts_each_unit_as_a_code_point, "equivalence"),
    "offset": (VALIDATOR, an_offset_behind_the_units_of_an_error, "equivalence"),
    "cause": (VALIDATOR, the_last_error_of_a_packet_has_the_cause_of_its_end, "equivalence"),
    "late bound": (ENCODER, a_late_bound, "equivalence"),
    "lost flags": (ENCODER, lose_flags, "equivalence"),
    "no room": (ENCODER, a_queue_accepts_without_room, "equivalence"),
}
"""Cores with a fault, and the property that fails."""


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
    assert_replays(configuration.build(), result.counterexample.cycles[:-1])


@pytest.mark.proof
@pytest.mark.parametrize("fault", [a_late_bound, lose_flags, a_queue_accepts_without_room])
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
