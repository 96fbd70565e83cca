# SPDX-License-Identifier: BSD-2-Clause
"""The comment at the beginning of the generated Verilog."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.core import Core, CoreEntry
from utf8fpga.hdl.cores import entry_of, parameters_of
from utf8fpga.hdl.parameters import DecoderParameters, EncoderParameters, TranscoderParameters
from utf8fpga.model import ErrorKind
from utf8fpga.model.render import counted


def header(
    core: Core,
    name: str,
    ports: Mapping[str, tuple[str, int]],
    paths: Mapping[str, Collection[str]],
    command: Sequence[str],
    reset: str,
) -> str:
    """The lines of the comment.

    Args:
        ports: the direction and the width of each port of the top, in order.
        paths: for each output port the input ports from which there is a combinational path to it.
        reset: the name of the reset port.
    """
    entry = entry_of(parameters_of(core))
    values = [f"{key} {value}" for key, value in entry.parameters.as_dict().items()]
    lines = [
        *entry.description(),
        f"Command: {shlex.join(['utf8fpga', 'generate', *command])}",
        *_wrapped(f"Parameters: {', '.join(values)}"),
        f"Written by utf8fpga {version('utf8fpga')}",
        "Copyright (c) 2026, the utf8fpga authors",
        "SPDX-License-Identifier: BSD-2-Clause",
        "",
        *(_tap_port_lines(core.tap, reset) if hasattr(core, "tap") else _port_lines(core, reset)),
        "",
        *(_tap_timing_lines(core.tap, reset) if hasattr(core, "tap") else _timing_lines(core, reset, entry)),
        *entry.notes,
        "",
        *_path_lines(ports, paths),
        "",
        "Instantiation template:",
        f"  {name} {name}_instance (",
        *_template_lines(ports),
        "  );",
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


_FIRST = ", the first in the low bits"


def _clock_lines(reset: str, column: int) -> Iterator[str]:
    active = "low" if reset == "rst_n" else "high"
    yield f"clk, {reset}".ljust(column) + f"rising edge; synchronous, active {active}"
    yield " " * column + "one clock for all ports; no synchronisers inside"


def _port_lines(core: Core, reset: str) -> Iterator[str]:
    entry, made, source = entry_of(parameters_of(core)), SymbolPorts.of(core.output), SymbolPorts.of(core.input)
    lanes, outputs = lanes_of(core.input), lanes_of(core.output)
    given, wanted = entry.input_noun, entry.output_noun
    order = "contiguous from word 0" if core.packed else "in order, with gaps"
    yield from _clock_lines(reset, 16)
    yield f"s_axis_tdata    {counted(lanes, given)}{_FIRST * (lanes > 1)}"
    if source.bits < 8 * source.size:
        yield f"                {8 * source.size} bits each, of which those above the low {source.bits} are ignored"
    yield from _keep_lines(entry, source)
    if source.users:
        yield f"s_axis_tuser    {counted(source.user_bits, 'bit')} per {given}"
    yield "s_axis_tlast    the packet ends after this beat"
    yield f"m_axis_tdata    {counted(outputs, wanted)}, {8 * made.size} bits each" + (
        f"; {order}" if outputs > 1 else ""
    )
    waits = isinstance(entry.parameters, DecoderParameters | EncoderParameters | TranscoderParameters)
    is_partial = core.packed and outputs > 1 and waits
    yield f"m_axis_tkeep    {'1' * made.size} for each {wanted} that is present{';' * is_partial}"
    if is_partial:
        yield f"                fewer than all {wanted}s also without m_axis_tlast, as before a pause of the input"
    yield from _user_lines(made, wanted)
    yield "m_axis_tlast    last beat of the packet"


_REPORT_MEANINGS = {
    "well_formed": "1 if the packet is well-formed",
    "offset": "code units before the first ill-formed item; 0 if well-formed",
    "errors": "number of ill-formed items",
    "units": "number of code units",
    "code_points": "number of code points, with one U+FFFD for each ill-formed item",
}


def _tap_port_lines(tap: Any, reset: str) -> Iterator[str]:
    lanes = len(tap.payload.keep)
    yield from _clock_lines(reset, 24)
    yield "All ports of the stream are inputs: it is only watched."
    yield f"s_axis_tdata            {counted(lanes, 'code unit')}{_FIRST * (lanes > 1)}"
    yield "s_axis_tkeep            1 for each code unit that is present, contiguous from bit 0;"
    yield "                        fewer than all only with s_axis_tlast;"
    yield "                        a beat with neither a code unit nor s_axis_tlast has no effect"
    yield "s_axis_tlast            the packet ends after this beat"
    yield "s_axis_tvalid, s_axis_tready"
    yield "                        a beat is transferred in a cycle in which both are high"
    yield from _report_lines(tap.report)
    yield "report_tvalid           the report is valid in this cycle; it is undefined in others"


def _report_lines(report: Any) -> Iterator[str]:
    for name, _ in report.shape():
        meaning, *further = _wrapped(_REPORT_MEANINGS.get(name) or _meaning(name, "item"), 24)
        yield f"{f'report_{name}'.ljust(24)}{meaning.strip()}"
        yield from further
    if report.shape().size > 1:
        yield "                        All ones in a number means this number or more."


def _tap_timing_lines(tap: Any, reset: str) -> Iterator[str]:
    yield from _wrapped(
        f"Latency: report_tvalid is high for one cycle, exactly {counted(tap.latency, 'cycle')} after the last beat of"
        " a packet was transferred. There is no back-pressure."
    )
    yield "Throughput: one beat per cycle, whatever the input; one report per packet, in order."
    yield from _wrapped(
        f"Reset: one cycle of {reset} is enough, whatever the registers hold; the packet and all reports in"
        " flight are discarded."
    )


def _path_lines(ports: Mapping[str, tuple[str, int]], paths: Mapping[str, Collection[str]]) -> Iterator[str]:
    """The combinational paths, one line for all outputs with the same inputs."""
    outputs: dict[tuple[str, ...], list[str]] = {}
    for output in ports:
        if found := paths.get(output):
            outputs.setdefault(tuple(port for port in ports if port in found), []).append(output)
    if not outputs:
        yield "Combinational paths from input ports to output ports: none."
        return
    yield "Combinational paths from input ports to output ports:"
    for inputs, others in outputs.items():
        yield f"  {', '.join(inputs)} -> {', '.join(others)}"


def _template_lines(ports: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    column = max(24, *(len(port) + 9 for port in ports))
    for number, (port, (direction, width)) in enumerate(ports.items(), 1):
        comma = "," if number < len(ports) else ""
        yield f"    .{port}(){comma}".ljust(column) + f"// {direction} {counted(width, 'bit')}"


def _keep_lines(entry: CoreEntry[Any], source: SymbolPorts) -> Iterator[str]:
    given, ones = entry.input_noun, "1" * source.size
    where = "in any lanes of any beat" if entry.accepts_gaps else "contiguous from bit 0"
    yield f"s_axis_tkeep    {ones} for each {given} that is present, {where};"
    if not entry.accepts_gaps:
        yield f"                fewer than all {given}s only with s_axis_tlast;"
    yield f"                none with s_axis_tlast ends the packet without a {given};"
    yield f"                a beat with neither a {given} nor s_axis_tlast has no effect"


def _user_lines(made: SymbolPorts, wanted: str) -> Iterator[str]:
    """What each bit of a symbol's part of ``m_axis_tuser`` means."""
    if not made.users:
        return
    if made.users[0][0] == "user":
        yield f"m_axis_tuser    {counted(made.user_bits, 'bit')} per {wanted}, those of s_axis_tuser"
        return
    yield f"m_axis_tuser    {counted(made.user_bits, 'bit')} per {wanted}:"
    at = 0
    for name, width in made.users:
        bits = f"bit {at}" if width == 1 else f"bits {at + width - 1} to {at}"
        yield from _wrapped(f"{bits}: {_meaning(name, wanted)}", 16)
        at += width


def _meaning(name: str, wanted: str) -> str:
    if name == "error":
        return f"1 for an ill-formed item; 0 if no {wanted} is present"
    kinds = ", ".join(f"{kind.value} {kind.name}" for kind in ErrorKind)
    return f"the cause of the error: {kinds}; 0 if well-formed"


def _timing_lines(core: Core, reset: str, entry: CoreEntry[Any]) -> Iterator[str]:
    latency, drain_cycles = core.latency, core.drain_cycles
    reset_cycles, stall_cycles = core.reset_cycles, core.stall_cycles
    fills = (
        ", and from the one that fills or ends its output beat," if core.packed and lanes_of(core.output) > 1 else ""
    )
    if entry.accepts_gaps:
        fills = ", and from the one that fills or ends each beat with it,"
    yield from _wrapped(
        f"Latency: at most {counted(latency, 'cycle')} from the beat that determines a symbol{fills} to the symbol,"
        " while m_axis_tready is high"
        + (
            f"; at most {drain_cycles} after an output beat has waited, until no symbol is in flight, and in the first"
            f" {counted(drain_cycles, 'cycle')} after {reset}."
            if drain_cycles > latency
            else "."
        )
    )
    stalls = "only while an output beat waits for m_axis_tready."
    if stall_cycles:
        most = counted(stall_cycles, "cycle")
        stalls = f"for at most {most} in a row while no output beat waits for m_axis_tready"
        stalls += (
            f", and only after {reset} or after a beat has waited."
            if isinstance(entry.parameters, DecoderParameters)
            else "."
        )
    rate = "one beat per cycle, whatever the input"
    if (growth := entry.growth(core)) > 1:
        rate = (
            f"one beat per cycle as long as no more {entry.output_noun}s are made than are output per cycle, one"
            f" beat in {growth} cycles on the worst input"
        )
    yield from _wrapped(f"Throughput: {rate}; s_axis_tready is low {stalls}")
    when = f"in the first cycle of {reset}, and is low in its others"
    when = when if reset_cycles else f"during {reset}"
    low = f"low for {counted(reset_cycles, 'cycle')}" if reset_cycles else "high at once"
    yield from _wrapped(
        f"Reset: one cycle of {reset} is enough, whatever the registers hold; symbols of earlier beats are"
        f" discarded. s_axis_tready may be high {when}; a beat that is transferred then is lost."
        f" After {reset}, s_axis_tready is {low}."
    )


def _wrapped(text: str, indent: int = 0) -> list[str]:
    space = " " * indent
    return textwrap.wrap(text, 114, initial_indent=space, subsequent_indent=f"{space}  ", break_on_hyphens=False)
