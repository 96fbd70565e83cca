# SPDX-License-Identifier: BSD-2-Clause
"""Faults in components, which a check must notice.

A fault is a set of assignments after those of a component. In Amaranth the last assignment to a signal takes
precedence, so a fault replaces the value of a register, of a wire, or of an input of a submodule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from amaranth.hdl import Const, Module

from utf8fpga.hdl import ValidatorTap
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.decoder.window_logic import WindowControl
from utf8fpga.hdl.encoder import logic, unit_queue, units
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.sanitizer import Sanitizer

Fault = Callable[[Module, Any], None]
"""Adds assignments to the module of a component, after the component's own."""

Assignments = Callable[[Any], Any]
"""The assignments of a fault, one or an iterable of them, given the component."""


def combinational(assignments: Assignments) -> Fault:
    """The fault of these assignments in the domain `comb`."""

    def fault(m: Module, component: Any) -> None:
        m.d.comb += assignments(component)

    return fault


def _elaborate_with(component: type[Any], faults: Iterable[Fault]) -> Callable[[Any, object], Module]:
    original: Callable[[Any, object], Module] = component.elaborate

    def elaborate(self: Any, platform: object) -> Module:
        m = original(self, platform)
        for fault in faults:
            fault(m, self)
        return m

    return elaborate


def with_fault(component: type[Any], *faults: Fault) -> type[Any]:
    """A type of components like this one, with faults, the last of which takes precedence."""
    return type(component.__name__, (component,), {"elaborate": _elaborate_with(component, faults)})


def inject(monkeypatch: pytest.MonkeyPatch, component: type[Any], *faults: Fault) -> None:
    """Let all components of this type have faults, the last of which takes precedence."""
    monkeypatch.setattr(component, "elaborate", _elaborate_with(component, faults))


def promise(monkeypatch: pytest.MonkeyPatch, component: type[Any], **promises: int) -> None:
    """Let all components of this type state other values, such as of `latency`, whatever they set themselves."""
    for name, value in promises.items():
        other = property(lambda _, value=value: value, lambda *_: None)
        monkeypatch.setattr(component, name, other, raising=False)


def delay_bounds(monkeypatch: pytest.MonkeyPatch, bounds: Collection[int] = (0x10000,)) -> None:
    """Let encoders give the first code point of these classes the class of the one before."""
    at_least = logic._at_least

    def later(m, number, given, suffix):
        return at_least(m, number, given, suffix) | {bound: number > bound for bound in bounds}

    monkeypatch.setattr(logic, "_at_least", later)


def lose_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let encoders output U+FFFD in place of what is ill-formed without the flag."""
    classes = unit_queue.symbol_classes
    for module in (unit_queue, units):
        monkeypatch.setattr(module, "symbol_classes", lambda *given, **how: (Const(0, 1), classes(*given, **how)[1]))


# Faults of components, which simulations find and proofs refute.


def a_lead_that_ends_a_beat_is_complete(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Items, "_goes_on", lambda items: Const(0, items.lanes))


def a_lead_allows_the_second_units_of_another_one(patch: pytest.MonkeyPatch) -> None:
    allows = WindowControl.lead_allows
    patch.setattr(WindowControl, "lead_allows", lambda *given: [*reversed(allows(*given))])


def a_sequence_of_the_sanitizer_is_never_open(patch: pytest.MonkeyPatch) -> None:
    is_open = Sanitizer._is_open
    patch.setattr(Sanitizer, "_is_open", lambda *given: is_open(*given) & 0)


def a_dropped_beat_keeps_its_credit(patch: pytest.MonkeyPatch) -> None:
    inject(patch, ParallelDecoder, combinational(lambda decoder: decoder.fifo.dropped.eq(0)))


def the_row_of_the_packer_has_no_carry(patch: pytest.MonkeyPatch) -> None:
    inject(patch, Packer, combinational(lambda packer: packer.rows.wrapped.eq(0)))


def the_end_of_a_packet_is_lost(patch: pytest.MonkeyPatch) -> None:
    inject(patch, Packer, combinational(lambda packer: packer.rows.last.eq(0)))


def a_queue_accepts_without_room(patch: pytest.MonkeyPatch) -> None:
    inject(patch, unit_queue.UnitQueue, combinational(lambda queue: queue.input.ready.eq(1)))


def a_report_counts_each_unit_as_a_code_point(patch: pytest.MonkeyPatch) -> None:
    inject(patch, ValidatorTap, combinational(lambda tap: tap.summary.items.eq(tap.items.present)))


def wrap(inner: Any, outer: Any) -> Module:
    """A module for `outer` with a correct decoder in it, connected port by port.

    A fault is a later assignment to one of these signals, which takes precedence.
    """
    m = Module()
    m.submodules.inner = inner
    m.d.comb += [
        inner.input.payload.eq(outer.input.payload),
        inner.input.valid.eq(outer.input.valid),
        outer.input.ready.eq(inner.input.ready),
        outer.output.payload.eq(inner.output.payload),
        outer.output.valid.eq(inner.output.valid),
        inner.output.ready.eq(outer.output.ready),
    ]
    return m
