# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the AXI4-Stream ports, of the counters and of the identifiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Value
from support.faults import Fault, combinational, inject, registered, with_fault
from support.tiers import tiered

from utf8fpga.formal.abc import Verdict
from utf8fpga.formal.axi_stream_proof import AnyCore, RegisteredPorts, any_ports, prove_ports, prove_registered
from utf8fpga.formal.properties import Property
from utf8fpga.hdl import (
    FLAGS,
    AxiStreamCore,
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    PortOptions,
    axi_stream,
)
from utf8fpga.hdl.axi_stream import AxiStreamTap
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.hdl.sideband import Sideband
from utf8fpga.hdl.statistics import Statistics
from utf8fpga.hdl.validator.parameters import ValidatorParameters
from utf8fpga.model import TABLE_3_7

TWO_LANES = DecoderParameters(lanes=2, packed=False)


BY_FLAGS = [{"flags": flags} for flags in FLAGS]
ADDITIONS = ({"statistics": "wishbone"}, {"statistics": "axi-lite"}, {"tid": 1})
PROVED: list[tuple[CoreParameters, dict[str, Any]]] = [
    *product((TWO_LANES, replace(TWO_LANES, kind=True, length=True), replace(TWO_LANES, length=True)), BY_FLAGS),
    *product((ValidatorParameters(), EncoderParameters(), EncoderParameters(lanes=3, narrow=True, items=True)), [{}]),
    *product((DecoderParameters(),), ADDITIONS),
]


@pytest.mark.smoke
@pytest.mark.parametrize(("parameters", "options"), PROVED, ids=lambda each: getattr(each, "name", str(each)))
def test_ports_are_those_of_the_core(parameters: CoreParameters, options: dict[str, Any]) -> None:
    assert prove_ports(any_ports(parameters.build(), PortOptions(**options)), Property.EQUIVALENCE).proved


@pytest.mark.parametrize(
    "fault",
    [
        combinational(lambda ports: ports.m_axis_tdata[32:].eq(ports.core.output.payload.symbols[0].code_point)),
        combinational(lambda ports: ports.m_axis_tdata[31].eq(1)),
        combinational(lambda ports: ports.m_axis_tuser.eq(ports.core.output.payload.symbols[0].error.replicate(2))),
        combinational(lambda ports: ports.m_axis_tkeep[1].eq(1)),
        combinational(lambda ports: ports.core.output.ready.eq(1)),
        combinational(lambda ports: ports.core.input.valid.eq(ports.s_axis_tvalid & ports.s_axis_tkeep.any())),
        combinational(lambda ports: ports.core.input.payload.symbols[1].eq(ports.s_axis_tdata[:8])),
    ],
    ids=["lanes", "unused bits", "flags", "bytes", "ready", "null beats", "input lanes"],
)
def test_faulty_ports_are_refuted(fault: Fault) -> None:
    ports = with_fault(AxiStreamCore, fault)(AnyCore(TWO_LANES.build()), PortOptions())
    assert prove_ports(ports, Property.EQUIVALENCE).proved is False


def test_faulty_ports_of_a_tap_are_refuted() -> None:
    tap = AnyCore(ValidatorParameters().build()).tap
    ports = with_fault(AxiStreamTap, combinational(lambda ports: ports.report_offset.eq(0)))(tap)
    assert prove_ports(ports, Property.EQUIVALENCE).proved is False


REGISTER_FAULTS = {
    "interrupt": ("wishbone", combinational(lambda each: each.irq.eq(each.leaves))),
    "data": ("wishbone", registered(lambda each: each.wb_dat_r[0].eq(0))),
    "no response": ("axi-lite", registered(lambda each: each.s_axil_bvalid.eq(0))),
    "two acknowledgements": ("wishbone", registered(lambda each: each.wb_ack.eq(each.wb_stb))),
    "always ready": ("axi-lite", combinational(lambda each: each.s_axil_arready.eq(1))),
    "error response": ("axi-lite", combinational(lambda each: each.s_axil_rresp.eq(2))),
}


@pytest.mark.parametrize(("bus", "fault"), tiered(REGISTER_FAULTS, 3))
def test_faulty_registers_are_refuted(bus: str, fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, Statistics, fault)
    ports = any_ports(DecoderParameters().build(), PortOptions(statistics=bus))
    assert prove_ports(ports, Property.EQUIVALENCE).proved is False


COUNTED: dict[str, Callable[..., list[Value]]] = {
    "one of two symbols": lambda packets, ill, symbols, errors: [packets, ill, symbols[:1], errors],
    "an error in the last beat only": lambda packets, ill, symbols, errors: [
        *(packets, ill & errors.any(), symbols, errors)
    ],
    "all ill-formed": lambda packets, ill, symbols, errors: [packets, packets, symbols, errors],
    "well-formed packets only": lambda packets, ill, symbols, errors: [packets & ~ill, ill, symbols, errors],
}


@pytest.mark.parametrize("counted", tiered(COUNTED, 2))
def test_wrong_counts_are_refuted(counted: Callable[..., list[Value]], monkeypatch: pytest.MonkeyPatch) -> None:
    amounts = Statistics._amounts
    monkeypatch.setattr(Statistics, "_amounts", lambda self, m: counted(*amounts(self, m)))
    ports = any_ports(TWO_LANES.build(), PortOptions(statistics="wishbone"))
    assert prove_ports(ports, Property.EQUIVALENCE).proved is False


def test_identifiers_of_the_next_packet_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, Sideband, combinational(lambda each: each.output.eq(each.entry)))
    assert identifiers().proved is False


def test_a_queue_of_too_few_identifiers_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert identifiers().proved
    monkeypatch.setattr(axi_stream, "Sideband", lambda width, drain_cycles: Sideband(width, drain_cycles // 2))
    assert identifiers().proved is False


def identifiers() -> Verdict:
    ports = any_ports(DecoderParameters(pipeline=2).build(), PortOptions(tid=1))
    return prove_ports(ports, Property.EQUIVALENCE)


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        (Property.EQUIVALENCE, registered(lambda buffer: buffer.full.eq(0))),
        (Property.STEADY, combinational(lambda buffer: buffer.output.payload.eq(buffer.words[0]))),
        (Property.STALL, registered(lambda buffer: buffer.runs[0].eq(0))),
    ],
    ids=["equivalence", "steady", "stall"],
)
def test_faulty_registers_in_front_of_the_output_are_refuted(
    wanted: Property, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(monkeypatch, RegisterBuffer, fault)
    assert prove_registered(RegisteredPorts(item_layout(TABLE_3_7), 1), wanted).proved is False
