# SPDX-License-Identifier: BSD-2-Clause
"""The comment at the beginning of the generated Verilog."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.core import Core, CoreParameters
from utf8fpga.hdl.cores import command_words, parameters_of

__all__ = ["header"]


def header(core: Core) -> str:
    """The lines of the comment."""
    parameters, lanes, made = parameters_of(core), core.lanes, SymbolPorts.of(core.output)
    source = SymbolPorts.of(core.input)
    given, wanted = parameters.input_noun, parameters.output_noun
    order = "contiguous from word 0" if core.packed else "in order, with gaps"
    lines = [
        *parameters.description(),
        f"Command: {shlex.join(['utf8fpga', 'generate', *command_words(parameters)])}",
        "",
        "clk, rst        rising edge; synchronous, active high",
        f"s_axis_tdata    {_several(lanes, given)}, the first in the low bits",
        *_keep_lines(parameters, source),
        *([f"s_axis_tuser    {_several(source.user_bits, 'bit')} per {given}"] if source.user else []),
        "s_axis_tlast    the packet ends after this beat",
        f"m_axis_tdata    {_several(lanes, wanted)}, {8 * made.size} bits each" + (f"; {order}" if lanes > 1 else ""),
        f"m_axis_tkeep    {'1' * made.size} for each {wanted} that is present",
    ]
    if made.user == "error":
        lines.append(f"m_axis_tuser    one bit per {wanted}: 1 for an ill-formed item; 0 if no {wanted} is present")
    elif made.user:
        lines.append(f"m_axis_tuser    {_several(made.user_bits, 'bit')} per {wanted}, those of s_axis_tuser")
    lines += [
        "m_axis_tlast    last beat of the packet",
        "",
        *_timing_lines(core, gathers=parameters.accepts_gaps),
        *parameters.notes(),
        "SPDX-License-Identifier: BSD-2-Clause",
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


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
    yield f"Latency: at most {_several(core.latency, 'cycle')} from the beat that determines a symbol{fills}"
    yield "to the symbol, while m_axis_tready is high."
    low = f"low for {_several(core.reset_cycles, 'cycle')}" if core.reset_cycles else "high at once"
    yield "Reset: s_axis_tready may be high while rst is; a beat that is transferred then is lost."
    yield f"After rst, s_axis_tready is {low}."


def _several(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
