# SPDX-License-Identifier: BSD-2-Clause
"""The command `generate`: writes a core as Verilog."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from utf8fpga.bench.tables import recorded_notes
from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import output_option
from utf8fpga.cli.output import CommandError, check_different, say, writing
from utf8fpga.hdl import (
    FAMILIES,
    FLAGS,
    PORT_ATTRIBUTES,
    CoreParameters,
    PortOptions,
    axi_assertions,
    axi_testbench,
    axi_verilog,
    bench_vectors,
    check_module_name,
    check_ram_style,
    edge_words,
    fitted,
)
from utf8fpga.hdl.cores import command_words, parameters_of
from utf8fpga.model import InvalidArgumentError

_DEFAULT = ParameterSource.DEFAULT


@core_command()
@click.option("--name", help="Name of the top module; default: utf8_CORE, such as utf8_decoder.")
@click.option(
    "--device",
    type=click.Choice(list(FAMILIES)),
    help="Family of devices for which options that are not given have other defaults; what was selected is printed.",
)
@click.option(
    "--ram-style",
    metavar="NAME=VALUE",
    help="Attribute of each memory, such as ram_style=distributed. Default: none, or that of --device.",
)
@click.option("--kind", is_flag=True, help="Also output the cause of each error, in m_axis_tuser.")
@click.option("--length", is_flag=True, help="Also output the number of bytes of each item, in m_axis_tuser.")
@click.option(
    "--flags",
    type=click.Choice(FLAGS),
    default="item",
    show_default=True,
    help="Place of the error flag: a bit of m_axis_tuser for each item, bit 31 of each word, or a bit of m_axis_tuser"
    " for each byte of m_axis_tdata, which width converters keep.",
)
@click.option(
    "--registered", is_flag=True, help="Registers at the output, so that no path leads from one stream to the other."
)
@click.option("--reset-low", is_flag=True, help="Reset port rst_n, active low, in place of rst.")
@click.option("--checks", is_flag=True, help="Report violations of the contract at the input in simulation.")
@click.option(
    "--attributes",
    type=click.Choice(list(PORT_ATTRIBUTES)),
    help="Attributes of the ports, from which a tool takes the interfaces. Default: none.",
)
@click.option(
    "--testbench",
    metavar="FILE",
    help="Also write a test bench in Verilog; it reads the file of --vectors.",
)
@click.option(
    "--vectors",
    metavar="FILE",
    help="Also write the vectors of the test bench, which for decoders of UTF-8 are those of the command vectors.",
)
@click.option(
    "--sva",
    metavar="FILE",
    help="Also write the contract of the ports as SystemVerilog assertions.",
)
@output_option
@click.pass_context
def generate(
    context: click.Context,
    parameters: CoreParameters,
    name: str | None,
    device: str | None,
    ram_style: str | None,
    kind: bool,
    length: bool,
    flags: str,
    registered: bool,
    reset_low: bool,
    checks: bool,
    attributes: str | None,
    testbench: str | None,
    vectors: str | None,
    sva: str | None,
    output: str,
) -> None:
    """Write the core as one self-contained Verilog-2005 file with AXI4-Stream ports."""
    check_different({"--output": output, "--testbench": testbench, "--vectors": vectors, "--sva": sva})
    _check("--name", check_module_name, name)
    _check("--ram-style", check_ram_style, ram_style)
    command, notes, style = command_words(parameters), tuple[str, ...](), ram_style
    if device is not None:
        given = [field for field in parameters.options() if context.get_parameter_source(field) is not _DEFAULT]
        found = fitted(parameters, device, given=given, ram_style=ram_style)
        parameters, style, notes, command = found.parameters, found.ram_style, found.notes, [*found.command]
        for note in notes:
            say(note)
    core = _with_fields(parameters, kind=kind, length=length).build()
    options = PortOptions(flags=flags, registered=registered, reset_low=reset_low)
    words = {"--name": name, "--device": device, "--ram-style": ram_style, "--attributes": attributes}
    command += [word for option, value in words.items() if value is not None for word in (option, value)]
    command += edge_words(core, options, checks=checks)
    files = {} if testbench is None else {testbench: axi_testbench(core, name, options=options, command=command)}
    notes = (*recorded_notes(parameters_of(core)), *notes)
    how: Any = {"checks": checks, "ram_style": style, "attributes": attributes, "notes": notes}
    if sva is not None:
        files[sva] = axi_assertions(core, name, options=options, command=command)
    if vectors is not None:
        files[vectors] = bench_vectors(core)
    files[output] = axi_verilog(core, name, options=options, command=command, **how)
    # None is replaced unless all can be written.
    with ExitStack() as stack:
        for file, content in [(stack.enter_context(writing(path)), content) for path, content in files.items()]:
            file.write(content.encode())


def _with_fields(parameters: CoreParameters, **fields: bool) -> CoreParameters:
    """The parameters with fields of items."""
    chosen = {name: True for name, is_chosen in fields.items() if is_chosen}
    if chosen and not hasattr(parameters, next(iter(chosen))):
        raise CommandError(f"--{next(iter(chosen))} is for decoders, not for the core {parameters.core}")
    return replace(parameters, **chosen) if chosen else parameters


def _check(option: str, check: Callable[[str], None], value: str | None) -> None:
    try:
        if value is not None:
            check(value)
    except InvalidArgumentError as error:
        raise CommandError(f"{option} {error}") from None
