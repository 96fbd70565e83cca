# SPDX-License-Identifier: BSD-2-Clause
"""The reports of a validator."""

from __future__ import annotations

from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.payloads import Kind

REPORTS = ("verdict", "offset", "full")
"""What a report holds, by the name of the option: each holds what the one before it holds."""


def report_layout(report: str, counters: int) -> data.StructLayout:
    """The report on a packet, see `ValidatorReport`.

    Args:
        report: one of `REPORTS`.
        counters: the width of the numbers in bits. They saturate: all ones is this number or more.

    Fields:
        well_formed: the packet is well-formed.
        offset: the units before the first ill-formed maximal subpart; 0 if well-formed (not with ``verdict``).
        kind: the cause of this error; `Kind.NONE` if well-formed (only with ``full``, like the following).
        errors: the number of ill-formed maximal subparts.
        units: the number of code units.
        code_points: the number of code points, with one U+FFFD for each ill-formed maximal subpart.
        utf16_units: the number of code units of the same text in UTF-16.
    """
    fields: dict[str, object] = {"well_formed": 1}
    if report != "verdict":
        fields["offset"] = counters
    if report == "full":
        fields["kind"] = Kind
        fields |= dict.fromkeys(("errors", "units", "code_points", "utf16_units"), counters)
    return data.StructLayout(fields)


def tap_ports(width: int, lanes: int, report: data.StructLayout) -> dict[str, Member]:
    """The ports of a tap of units of so many bits."""
    stream = {"payload": In(beat_layout(width, lanes)), "valid": In(1), "ready": In(1)}
    return {**stream, "report": Out(report), "report_valid": Out(1)}
