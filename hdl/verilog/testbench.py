# SPDX-License-Identifier: BSD-2-Clause
"""A test bench in plain Verilog for a generated decoder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import command_words, parameters_of
from utf8fpga.hdl.decoder.parameters import DecoderParameters
from utf8fpga.hdl.verilog.identifiers import check_module_name
from utf8fpga.hdl.verilog.writer import module_name
from utf8fpga.model import TABLE_3_7, InvalidArgumentError, Practice
from utf8fpga.model.vectors import render_vectors

__all__ = ["axi_testbench"]


def axi_testbench(core: Core, name: str | None = None, *, command: Sequence[str] | None = None) -> str:
    """A test bench in Verilog-2005 for the module that `axi_verilog` writes.

    It sends the packets of a file of vectors for ``$readmemh`` with pseudo-random pauses on both sides, and prints
    ``PASS:`` or the first difference.

    Args:
        core: a decoder of UTF-8.
        name: the name of the decoder's module; default: see `module_name`. That of the bench is this with ``_bench``.
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
    text = files("utf8fpga.hdl.verilog").joinpath("testbench.v").read_text(encoding="utf-8")
    return Template(text).substitute(
        product=f"a decoder with {parameters.lanes} {'byte' if parameters.lanes == 1 else 'bytes'} per cycle",
        command=shlex.join(["utf8fpga", "generate", *words]),
        practice="" if practice is Practice.MAXIMAL_SUBPARTS else f" --practice {practice.value}",
        name=name,
        entries=sum(not line.startswith("//") for line in render_vectors("readmemh", practice).splitlines()),
        lanes=parameters.lanes,
        replacement=f"1'b{int(parameters.replacement)}",
    )
