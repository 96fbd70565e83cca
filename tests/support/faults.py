# SPDX-License-Identifier: BSD-2-Clause
"""Faults in components, which a check must notice.

Most are assignments after those of a component. In Amaranth the last assignment to a signal takes
precedence, so a fault replaces the value of a register, of a wire, or of an input of a submodule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
from amaranth.hdl import Module

from utf8fpga.hdl import ValidatorTap
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.decoder.window_logic import WindowControl
from utf8fpga.hdl.encoder import logic, serial, units
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.sanitizer import Sanitizer
from utf8fpga.hdl.window import Window


def inject(monkeypatch: pytest.MonkeyPatch, component: type[Any], assignments: Callable[[Any], Any]) -> None:
    """Let all components of this type have a fault: these assignments, given the component, in the domain `comb`."""
    original: Callable[[Any, object], Module] = component.elaborate

    def elaborate(self: Any, platform: object) -> Module:
        m = original(self, platform)
        m.d.comb += assignments(self)
        return m

    monkeypatch.setattr(component, "elaborate", elaborate)


def promise(monkeypatch: pytest.MonkeyPatch, component: type[Any], **promises: int) -> None:
    """Let all components of this type state other values, such as of `latency`, whatever they set themselves."""
    for name, value in promises.items():
        other = property(lambda _, value=value: value, lambda *_: None)
        monkeypatch.setattr(component, name, other, raising=False)


def delay_bounds(monkeypatch: pytest.MonkeyPatch, bounds: Collection[int] = (0x10000,)) -> None:
    """Let encoders give the first code point of these classes the class of the one before."""
    regions = logic.EncoderLogic._regions.func
    late = property(lambda self: [(first + (first in bounds), length) for first, length in regions(self)])
    monkeypatch.setattr(logic.EncoderLogic, "_regions", late)


def lose_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let encoders output U+FFFD in place of what is ill-formed without the flag."""
    inject(monkeypatch, serial.SerialEncoder, lambda encoder: encoder.output.payload.symbols[0].error.eq(0))
    inject(monkeypatch, units.CodePointUnits, lambda encoder: [word[-1].eq(0) for word in encoder.out_words])


# Faults of components, which simulations find and proofs refute.


def a_lead_that_ends_a_beat_is_complete(patch: pytest.MonkeyPatch) -> None:
    inject(patch, Window, lambda window: window.continued[0].eq(0))


def a_lead_allows_the_second_units_of_another_one(patch: pytest.MonkeyPatch) -> None:
    allows = WindowControl.lead_allows
    patch.setattr(WindowControl, "lead_allows", lambda *given: [*reversed(allows(*given))])


def a_sequence_of_the_sanitizer_is_never_open(patch: pytest.MonkeyPatch) -> None:
    is_open = Sanitizer._is_open
    patch.setattr(Sanitizer, "_is_open", lambda *given: is_open(*given) & 0)


def a_dropped_beat_keeps_its_credit(patch: pytest.MonkeyPatch) -> None:
    inject(patch, ParallelDecoder, lambda decoder: decoder.fifo.dropped.eq(0))


def the_row_of_the_packer_has_no_carry(patch: pytest.MonkeyPatch) -> None:
    inject(patch, Packer, lambda packer: packer.rows.open_lanes_before.eq(0))


def the_end_of_a_packet_is_lost(patch: pytest.MonkeyPatch) -> None:
    inject(patch, Packer, lambda packer: packer.rows.last.eq(0))


def a_queue_accepts_without_room(patch: pytest.MonkeyPatch) -> None:
    inject(patch, serial.SerialEncoder, lambda queue: queue.input.ready.eq(1))


def a_report_counts_each_unit_as_a_code_point(patch: pytest.MonkeyPatch) -> None:
    inject(patch, ValidatorTap, lambda tap: tap.summary.items.eq(tap.items.present))
