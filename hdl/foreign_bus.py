# SPDX-License-Identifier: BSD-2-Clause
"""The host of a foreign core on a bus, which writes a byte, looks at the status, and reads the words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value

from utf8fpga.hdl.foreign_ports import CheckedPorts, cycles_of
from utf8fpga.hdl.port_expressions import Pin

MOST_RESENT = 5
"""Requests for one byte from which on there is an error."""


def connect_bus(
    m: Module,
    ports: CheckedPorts,
    operations: Mapping[str, Sequence[Sequence[tuple[Pin, Value]]]],
    given: Any,
    drive: Mapping[str, Signal],
    read: Callable[..., Value],
) -> tuple[Value, Value, Callable[..., Value]]:
    """Connect an input stream to the inputs of a core on a bus, see `CheckedPorts.bus`.

    Args:
        operations: by name of an operation for each of its cycles the inputs and their values.
        drive: by name the inputs of the core.
        read: the value of an output of the core by its role, see `ForeignCore`.

    Returns:
        Whether there is an output in this cycle, whether the core requests a byte for the last permitted time, and a
        function like `read` for the roles of the output.
    """
    latency = ports.latency
    has_emitted, is_requested, is_flushed, emits = Signal(), Signal(), Signal(), Signal()
    is_resent, is_valid, error = Signal(), Signal(), Signal(len(read("output.error")))
    age, requests = Signal(range(latency + 1)), Signal(range(MOST_RESENT))
    part = read(f"output.{ports.data_out}")
    parts = [Signal(len(part)) for _ in cycles_of(ports.bus.get("read", {}))]
    has_byte = given.payload.keep[0]

    def operation(name: str, then: str, at_end: Callable[[int], Sequence[Any]] = lambda _: ()) -> None:
        """The states of an operation, whose cycles wait for `ready`; `at_end` is what its data are used for."""
        cycles = operations.get(name, [[]])
        for number, cycle in enumerate(cycles):
            is_last = number == len(cycles) - 1
            has_data = name == "read" or (name == "status" and is_last)
            with m.State(f"{name}{number}"):
                is_first = age == 0
                with m.If(is_first):
                    m.d.comb += [drive[pin.port][pin.part].eq(value ^ pin.mask) for pin, value in cycle]
                accepted = is_first & read("input.ready", 1)
                with m.If(accepted if not has_data or latency == 0 else age == latency):
                    m.d.sync += age.eq(0)
                    m.next = then if is_last else f"{name}{number + 1}"
                    if has_data:
                        m.d.sync += at_end(number)
                        with m.If((name == "status") & read("output.busy")):
                            m.next = "status0"
                with m.Elif(accepted | ~is_first):
                    m.d.sync += age.eq(age + 1)

    def status(_: int) -> list[Any]:
        requested = is_requested.eq(is_requested | read("output.resend"))
        return [is_valid.eq(read("output.valid")), error.eq(read("output.error")), parts[0].eq(part), requested]

    with m.FSM():
        with m.State("idle"):
            with m.If(given.valid & has_byte):
                m.next = "write0"
            with m.Elif(given.valid):
                m.next = "finish"
        operation("write", "status0")
        operation("status", "decide", status)
        with m.State("decide"):
            shows_error = error.any() if ports.marks == "separate" or "valid" not in ports.output else 0
            m.next = "finish"
            with m.If(is_valid | shows_error):
                m.next = "read0" if "read" in operations else "emit"
        operation("read", "emit", lambda number: [parts[number].eq(part)])
        with m.State("emit"):
            m.d.comb += emits.eq(1)
            m.d.sync += has_emitted.eq(1)
            m.next = "next0" if "next" in operations else "finish"
        operation("next", "status0")
        with m.State("finish"):
            m.next = "idle"
            with m.If(has_emitted & ("clear" in operations)):
                m.d.sync += has_emitted.eq(0)
                m.next = "clear0"
            with m.Elif(is_requested):
                m.d.sync += [is_requested.eq(0), requests.eq(requests + 1)]
                m.d.comb += is_resent.eq(requests == MOST_RESENT - 1)
                m.next = "write0"
            with m.Elif(("flush" in operations) & given.payload.last & ~is_flushed):
                m.d.sync += is_flushed.eq(1)
                m.next = "flush0"
            with m.Else():
                m.d.comb += given.ready.eq(1)
                m.d.sync += [is_flushed.eq(0), has_emitted.eq(0), requests.eq(0)]
        operation("clear", "finish")
        operation("flush", "status0")
    shown = {"output.valid": is_valid, "output.error": error, f"output.{ports.data_out}": Cat(parts)}

    def read_at_end(role: str, default: Any = 0) -> Any:
        return shown[role] if role[7:] in ports.output and role in shown else default

    return emits, is_resent, read_at_end
