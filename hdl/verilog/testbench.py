# SPDX-License-Identifier: BSD-2-Clause
"""A test bench in plain Verilog for a generated decoder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from utf8fpga.hdl.axi_stream import PortOptions, SymbolPorts
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import command_words, parameters_of
from utf8fpga.hdl.decoder.parameters import DecoderParameters
from utf8fpga.hdl.verilog.identifiers import check_module_name
from utf8fpga.hdl.verilog.writer import module_name
from utf8fpga.model import TABLE_3_7, InvalidArgumentError, Practice
from utf8fpga.model.vectors import render_vectors

__all__ = ["axi_testbench"]


def axi_testbench(
    core: Core,
    name: str | None = None,
    *,
    options: PortOptions | None = None,
    command: Sequence[str] | None = None,
) -> str:
    """A test bench in Verilog-2005 for the module that `axi_verilog` writes.

    It sends the packets of a file of vectors for ``$readmemh`` with pseudo-random pauses on both sides, and prints
    ``PASS:`` or the first difference.

    Args:
        core: a decoder of UTF-8.
        name: the name of the decoder's module; default: see `module_name`. That of the bench is this with ``_bench``.
        options: the options of the ports; default: none.
        command: the arguments of ``utf8fpga generate`` that its comment states; default: those that select the core.

    Raises:
        InvalidArgumentError: the core is no decoder of UTF-8, or `name` is not valid.
    """
    parameters = parameters_of(core)
    if not isinstance(parameters, DecoderParameters) or parameters.table is not TABLE_3_7:
        raise InvalidArgumentError("a test bench is written for decoders of UTF-8 only, since the vectors are UTF-8")
    name = module_name(core) if name is None else name
    check_module_name(name)
    practice = parameters.practice
    words = command_words(parameters) if command is None else command
    options = options or PortOptions()
    made, lanes = SymbolPorts.of(core.output, options.flags), parameters.lanes
    user, bits = made.user_size * lanes, 8 * made.size
    error = f"m_data[{bits}*number+{bits - 1}]" if made.flags == "word" else f"m_user[{made.user_size}*number]"
    text = files("utf8fpga.hdl.verilog").joinpath("testbench.v").read_text(encoding="utf-8")
    return Template(text).substitute(
        product=f"a decoder with {parameters.lanes} {'byte' if parameters.lanes == 1 else 'bytes'} per cycle",
        command=shlex.join(["utf8fpga", "generate", *words]),
        practice="" if practice is Practice.MAXIMAL_SUBPARTS else f" --practice {practice.value}",
        name=name,
        entries=sum(not line.startswith("//") for line in render_vectors("readmemh", practice).splitlines()),
        lanes=parameters.lanes,
        user_wire=f"  wire [{user - 1}:0] m_user;\n" if user else "",
        user_port="    .m_axis_tuser(m_user),\n" if user else "",
        reset_port=".rst_n(!rst)" if options.reset_low else ".rst(rst)",
        error=error,
        data=f"{{1'b0, m_data[{bits}*lane +: {bits - 1}]}}"
        if made.flags == "word"
        else f"m_data[{bits}*lane +: {bits}]",
        all=f"{{m_last, m_keep{', m_user' if user else ''}, m_data}}",
        held=1 + (bits + made.size) * lanes + user,
        replacement=f"1'b{int(parameters.replacement)}",
    )
