# SPDX-License-Identifier: BSD-2-Clause
"""The comment at the beginning of the generated Verilog."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version

from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.core import Core, CoreParameters
from utf8fpga.hdl.cores import parameters_of

__all__ = ["header"]


def header(
    core: Core,
    name: str,
    ports: Mapping[str, tuple[str, int]],
    paths: Mapping[str, Sequence[str]],
    command: Sequence[str],
    notes: Sequence[str],
) -> str:
    """The lines of the comment.

    Args:
        core: the core.
        name: the name of the top module.
        ports: the direction and the width of each port of the top, in order.
        paths: for each output port the input ports from which there is a combinational path to it.
        command: the arguments of `utf8fpga generate`.
        notes: further lines.
    """
    parameters = parameters_of(core)
    values = [f"{key} {'none' if value is None else value}" for key, value in parameters.as_dict().items()]
    lines = [
        *parameters.description(),
        f"Command: {shlex.join(['utf8fpga', 'generate', *command])}",
        *_wrapped(f"Parameters: {', '.join(values)}"),
        *notes,
        f"Written by utf8fpga {version('utf8fpga')}",
        "Copyright (c) 2026, the utf8fpga authors",
        "SPDX-License-Identifier: BSD-2-Clause",
        "",
        *_port_lines(core),
        "",
        *_timing_lines(core, gathers=parameters.accepts_gaps),
        *parameters.notes(),
        "",
        *_path_lines(ports, paths),
        "",
        "Instantiation template:",
        f"  {name} {name}_instance (",
        *_template_lines(ports),
        "  );",
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


def _port_lines(core: Core) -> Iterator[str]:
    parameters, lanes, made = parameters_of(core), core.lanes, SymbolPorts.of(core.output)
    source = SymbolPorts.of(core.input)
    given, wanted = parameters.input_noun, parameters.output_noun
    order = "contiguous from word 0" if core.packed else "in order, with gaps"
    yield "clk, rst        rising edge; synchronous, active high"
    yield f"s_axis_tdata    {_several(lanes, given)}, the first in the low bits"
    yield from _keep_lines(parameters, source)
    if source.user:
        yield f"s_axis_tuser    {_several(source.user_bits, 'bit')} per {given}"
    yield "s_axis_tlast    the packet ends after this beat"
    yield f"m_axis_tdata    {_several(lanes, wanted)}, {8 * made.size} bits each" + (f"; {order}" if lanes > 1 else "")
    yield f"m_axis_tkeep    {'1' * made.size} for each {wanted} that is present"
    if made.user == "error":
        yield f"m_axis_tuser    one bit per {wanted}: 1 for an ill-formed item; 0 if no {wanted} is present"
    elif made.user:
        yield f"m_axis_tuser    {_several(made.user_bits, 'bit')} per {wanted}, those of s_axis_tuser"
    yield "m_axis_tlast    last beat of the packet"


def _path_lines(ports: Mapping[str, tuple[str, int]], paths: Mapping[str, Sequence[str]]) -> Iterator[str]:
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
    for number, (port, (direction, width)) in enumerate(ports.items(), 1):
        comma = "," if number < len(ports) else ""
        yield f"    .{port}(){comma}".ljust(24) + f"// {direction} {_several(width, 'bit')}"


def _keep_lines(parameters: CoreParameters, source: SymbolPorts) -> Iterator[str]:
    given, ones = parameters.input_noun, "1" * source.size
    if parameters.accepts_gaps:
        yield f"s_axis_tkeep    {ones} for each {given} that is present, in any lanes of any beat;"
        yield f"                none with s_axis_tlast ends the packet without a {given};"
    else:
        yield f"s_axis_tkeep    {ones} for each {given} that is present, contiguous from bit 0;"
        yield f"                fewer than all {given}s only with s_axis_tlast;"
        yield f"                none with s_axis_tlast ends the packet without a {given};"
    yield f"                a beat with neither a {given} nor s_axis_tlast has no effect"


def _timing_lines(core: Core, *, gathers: bool) -> Iterator[str]:
    fills = ", and from the one that fills or ends its output beat," if core.packed and core.lanes > 1 else ""
    if gathers:
        fills = ", and from the one that fills or ends each beat with it,"
    latency = _several(core.latency, "cycle")
    yield from _wrapped(
        f"Latency: at most {latency} from the beat that determines a symbol{fills} to the symbol, while"
        " m_axis_tready is high."
    )
    stalls = "only while an output beat waits for m_axis_tready."
    if core.stall_cycles:
        most = _several(core.stall_cycles, "cycle")
        stalls = f"for at most {most} in a row while no output beat waits for m_axis_tready."
    yield from _wrapped(f"Throughput: one beat per cycle, whatever the input; s_axis_tready is low {stalls}")
    when = "in its first cycle, and is low in the others" if core.reset_cycles else "while rst is high"
    low = f"low for {_several(core.reset_cycles, 'cycle')}" if core.reset_cycles else "high at once"
    yield from _wrapped(
        "Reset: one cycle of rst is enough, whatever the registers hold; symbols of earlier beats are discarded."
        f" s_axis_tready may be high {when}; a beat that is transferred then is lost."
        f" After rst, s_axis_tready is {low}."
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 114, subsequent_indent="  ", break_on_hyphens=False)


def _several(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
