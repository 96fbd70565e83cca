# SPDX-License-Identifier: BSD-2-Clause
"""The reports of a validator."""

from __future__ import annotations

from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.payloads import Kind
from utf8fpga.model.validator import COUNTER_WIDTH


def report_layout() -> data.StructLayout:
    """The report on a packet, see `ValidatorReport`. Its numbers saturate: all ones is this number or more.

    Fields:
        well_formed: the packet is well-formed.
        offset: the units before the first ill-formed maximal subpart; 0 if well-formed.
        kind: the cause of this error; `Kind.NONE` if well-formed.
        errors: the number of ill-formed maximal subparts.
        units: the number of code units.
        code_points: the number of code points, with one U+FFFD for each ill-formed maximal subpart.
    """
    numbers = dict.fromkeys(("errors", "units", "code_points"), COUNTER_WIDTH)
    return data.StructLayout({"well_formed": 1, "offset": COUNTER_WIDTH, "kind": Kind, **numbers})


def tap_ports(width: int, lanes: int, report: data.StructLayout) -> dict[str, Member]:
    """The ports of a tap of units of so many bits."""
    stream = {"payload": In(beat_layout(width, lanes)), "valid": In(1), "ready": In(1)}
    return {**stream, "report": Out(report), "report_valid": Out(1)}
