# SPDX-License-Identifier: BSD-2-Clause
"""The command `generate`: writes a core as Verilog."""

from __future__ import annotations

from contextlib import ExitStack

import click

from utf8fpga.cli.core_command import core_command
from utf8fpga.cli.options import output_option
from utf8fpga.cli.output import CommandError, is_standard_output, progress, say, writing
from utf8fpga.hdl import CoreParameters, axi_verilog, build
from utf8fpga.hdl.verilog.assertions import axi_assertions
from utf8fpga.hdl.verilog.bench_vectors import bench_vectors
from utf8fpga.hdl.verilog.identifiers import check_module_name
from utf8fpga.hdl.verilog.testbench import axi_testbench


@core_command("generate --lanes 4 -o utf8_decoder.v", "generate validator -o v.v --testbench b.v --vectors vectors.hex")
@click.option("--name", help="Name of the top module; default: utf8_CORE.")
@click.option("--reset-low", is_flag=True, help="Reset port rst_n, active low, in place of rst.")
@click.option("--testbench", metavar="FILE", help="A test bench to write, which reads --vectors.")
@click.option("--vectors", metavar="FILE", help="Vectors of the test bench to write.")
@click.option("--sva", metavar="FILE", help="Assertions to write, in SystemVerilog.")
@output_option
def generate(
    parameters: CoreParameters,
    name: str | None,
    reset_low: bool,
    testbench: str | None,
    vectors: str | None,
    sva: str | None,
    output: str,
) -> None:
    """Write a core as one self-contained Verilog-2005 file with AXI4-Stream ports."""
    if name is not None:
        check_module_name(name)
    files = [file for file in (output, testbench, vectors, sva) if file is not None]
    if twice := next((file for number, file in enumerate(files) if file in files[:number]), None):
        raise CommandError(f"{twice!r} is given for two outputs: give each a file of its own")
    core = build(parameters)
    texts: list[tuple[str, str]] = []
    with progress(f"writing {parameters.name}"):  # Many lanes take minutes.
        if testbench is not None:
            known = vectors if vectors and not is_standard_output(vectors) else None
            texts.append((testbench, axi_testbench(core, name, reset_low=reset_low, vectors=known)))
        if vectors is not None:
            texts.append((vectors, bench_vectors(core)))
        if sva is not None:
            texts.append((sva, axi_assertions(core, name, reset_low=reset_low)))
        texts.append((output, axi_verilog(core, name, reset_low=reset_low)))
    # None is replaced unless all can be written.
    with ExitStack() as stack:
        for file, text in [(stack.enter_context(writing(path)), text) for path, text in texts]:
            file.write(text.encode())
    if testbench and not vectors:
        say("utf8fpga: the test bench reads its vectors from vectors.hex: write it with --vectors vectors.hex")
