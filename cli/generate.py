# SPDX-License-Identifier: BSD-2-Clause
"""The command `generate`: writes a core as Verilog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import click

from utf8fpga.bench.tables import recorded_notes
from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import FILE, Word, output_option
from utf8fpga.cli.output import CommandError, check_different, is_standard_output, spinner, writing
from utf8fpga.hdl import (
    FLAGS,
    CoreParameters,
    PortOptions,
    axi_assertions,
    axi_testbench,
    axi_verilog,
    bench_vectors,
    check_module_name,
    edge_words,
)
from utf8fpga.hdl.core import option_word
from utf8fpga.hdl.cores import command_words
from utf8fpga.model import InvalidArgumentError

_FILES = {
    "testbench": "a test bench in Verilog; it reads the file of --vectors",
    "vectors": "the vectors of the test bench, which for decoders of UTF-8 are those of the command vectors",
    "sva": "the contract of the ports as SystemVerilog assertions",
}
"""The files beside the Verilog, by the names of their options."""


def _file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, text in reversed(_FILES.items()):
        command = click.option(option_word(name), type=FILE, help=f"Also write {text}.")(command)
    return command


def _writers(paths: Mapping[str, str | None], output: str) -> dict[str, Callable[..., str]]:
    """The functions that write these files, which may name each other and the Verilog."""
    files = {"verilog": output, "testbench": paths["testbench"], "vectors": paths["vectors"]}
    named: Any = {file: None if is_standard_output(path) else path for file, path in files.items()}
    return {
        "testbench": partial(axi_testbench, **named),
        "vectors": lambda core, *_, **__: bench_vectors(core),
        "sva": axi_assertions,
    }


@core_command()
@click.option("--name", help="Name of the top module; default: utf8_CORE, such as utf8_decoder.")
@click.option("--kind", is_flag=True, help="Also output the cause of each error, in m_axis_tuser.")
@click.option("--length", is_flag=True, help="Also output the number of bytes of each item, in m_axis_tuser.")
@click.option(
    "--flags",
    type=Word(FLAGS),
    default="item",
    show_default=True,
    help="Place of the error flag: a bit of m_axis_tuser for each item, bit 31 of each word, or a bit of m_axis_tuser"
    " for each byte of m_axis_tdata, which width converters keep.",
)
@click.option("--reset-low", is_flag=True, help="Reset port rst_n, active low, in place of rst.")
@_file_options
@output_option
def generate(
    parameters: CoreParameters,
    name: str | None,
    kind: bool,
    length: bool,
    output: str,
    **given: Any,
) -> None:
    """Write the core as one self-contained Verilog-2005 file with AXI4-Stream ports."""
    others: dict[str, str | None] = {file: given.pop(file) for file in _FILES}
    check_different({"--output": output, **{option_word(file): path for file, path in others.items()}})
    _check("--name", check_module_name, name)
    command = command_words(parameters)
    core = _with_fields(parameters, kind=kind, length=length).build()
    options = PortOptions(**{name: value for name, value in given.items() if value is not None})
    if name is not None:
        command += ["--name", name]
    command += edge_words(core, options)
    with spinner(f"writing {parameters.name}"):  # Many lanes take minutes.
        files = [
            (path, write(core, name, options=options, command=command))
            for file, write in _writers(others, output).items()
            if (path := others[file]) is not None
        ]
        files.append((output, axi_verilog(core, name, options=options, command=command, notes=recorded_notes)))
    # None is replaced unless all can be written.
    with ExitStack() as stack:
        for file, content in [(stack.enter_context(writing(path)), content) for path, content in files]:
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
