# SPDX-License-Identifier: BSD-2-Clause
"""The command line. Data goes to standard output, talk to standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from utf8fpga import __version__
from utf8fpga.model import TABLE_3_7, TableError
from utf8fpga.model.forms import CATALOGUE
from utf8fpga.model.practices import Practice
from utf8fpga.model.render import FORMATS, columns, render
from utf8fpga.model.vectors import VECTOR_FORMATS, render_vectors
from utf8fpga.output import CommandError, say, write_bytes

__all__ = ["main"]

MAX_LANES = 256
"""The contract of the generated Verilog."""

MAX_SEEDS = 100
"""Of one run of bench."""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, invoke_without_command=True
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A UTF-8 decoder in hardware, generated from Table 3-7 of the Unicode Standard.

    FILE may be - for standard input or output.
    """
    if context.invoked_subcommand is None:
        raise CommandError(f"no command given: one of {', '.join(cli.commands)}; -h tells more")


pipeline_option = click.option(
    "--pipeline",
    type=click.IntRange(0, 2),
    default=0,
    show_default=True,
    help="Register stages on top of the smallest decoder: 0 is the smallest, 2 the fastest.",
)
any_pipeline_option = click.option(
    "--pipeline",
    type=click.IntRange(min=0),
    help="Register stages, 0 is the smallest. Not told: 0 for serial (up to 2), the fastest for parallel (up to 6).",
)
lanes_option = click.option("--lanes", type=int, default=1, show_default=True, help="Bytes a clock, 1 to 256.")
architecture_option = click.option(
    "--architecture",
    type=click.Choice(["serial", "parallel"]),
    help="Serial if not told for one lane, parallel for more.",
)
buffer_option = click.option(
    "--buffer",
    type=click.Choice(["registers", "memory"]),
    help="What holds beats back in parallel decoders. Memory is faster and needs 4 lanes; registers need no reset"
    " after a flipped bit. Not told: memory from 4 lanes on.",
)
packed_option = click.option("--packed", is_flag=True, help="Words contiguous from word 0; one lane always is.")
practice_option = click.option(
    "--practice",
    type=click.Choice([practice.value for practice in Practice]),
    default=Practice.MAXIMAL_SUBPARTS.value,
    show_default=True,
    help="How many marks stand for ill-formed bytes.",
)
output_option = click.option(
    "-o", "--output", metavar="FILE", default="-", help="Where the result goes; standard output without it."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for a program to read.")


@cli.command()
@click.option("--directory", metavar="DIR", default="build", show_default=True, help="Where the bitstream goes.")
def demo(directory: str) -> None:
    """Show the whole path once: table, DFA, model, simulated hardware, iCEBreaker bitstream."""
    from utf8fpga.demo import run_demo

    run_demo(Path(directory))


@cli.command()
@click.argument("file", default="-")
@output_option
@click.option("--json", "form", flag_value="json", help="One JSON object a line for each item.")
@click.option("--summary", "form", flag_value="summary", help="Counts, and each ill-formed span with its cause.")
@practice_option
@click.option("--strict", is_flag=True, help="Exit status 1 where anything is ill-formed.")
def decode(file: str, output: str, form: str | None, practice: str, strict: bool) -> None:
    """Decode FILE with the golden model: as text with U+FFFD, as JSON lines, or as a summary."""
    from utf8fpga.runs import decode_file

    decode_file(file, output, form=form or "text", practice=Practice(practice), strict=strict)


@cli.command()
@click.argument("name", default=TABLE_3_7.name)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--list", "names", is_flag=True, help="List the names.")
@click.option("--documents", is_flag=True, help="Compare the older documents' rules with Table 3-7.")
@output_option
def table(name: str, form: str, names: bool, documents: bool, output: str) -> None:
    """Write an encoding table and its minimal DFA: to read, as a picture, or as a C header.

    NAME is that of the encoding form, UTF-8 (Table 3-7) unless given.
    """
    if names:
        rows = [[table.name, table.source] for table in CATALOGUE.values()]
        text = "\n".join(columns(rows, ["name", "source"])) + "\n"
    elif documents:
        from utf8fpga.model.comparison import comparison_text

        text = "\n".join(comparison_text()) + "\n"
    elif name not in CATALOGUE:
        raise CommandError(f"unknown table {name!r} (known: {', '.join(CATALOGUE)})")
    else:
        text = render(CATALOGUE[name], form)
    write_bytes(output, text.encode())


@cli.command()
@click.option("--format", "form", type=click.Choice(list(VECTOR_FORMATS)), default="json", show_default=True)
@practice_option
@output_option
def vectors(form: str, practice: str, output: str) -> None:
    """Write named test vectors by cause, with the items expected under every practice.

    A file for readmemh has one practice; the others have all.
    """
    write_bytes(output, render_vectors(form, Practice(practice)).encode())


@cli.command()
@lanes_option
@architecture_option
@any_pipeline_option
@buffer_option
@packed_option
@click.option(
    "--no-replacement", is_flag=True, help="Leave tdata undefined where tuser is set: smaller than U+FFFD in it."
)
@practice_option
@click.option(
    "--refresh",
    type=click.IntRange(min=1),
    metavar="CLOCKS",
    help="Reset the decoder between texts every so many clocks: then no flipped bit does harm for longer.",
)
@click.option("--name", default="utf8_decoder", show_default=True, help="The top module.")
@output_option
def generate(
    lanes: int,
    architecture: str | None,
    pipeline: int | None,
    buffer: str | None,
    packed: bool,
    no_replacement: bool,
    practice: str,
    refresh: int | None,
    name: str,
    output: str,
) -> None:
    """Write the decoder as one self-contained Verilog-2005 file with AXI4-Stream ports."""
    from utf8fpga.hdl import MARK_PRACTICES, AnyDecoder, Decoder, PracticeDecoder, axi_verilog

    if practice not in MARK_PRACTICES:
        raise CommandError(f"practice {practice} is not one for hardware: {', '.join(MARK_PRACTICES)}")
    decoder: AnyDecoder = Decoder(
        lanes=lanes,
        architecture=architecture,
        pipeline=pipeline,
        buffer=buffer,
        packed=packed,
        replacement=not no_replacement,
    )
    if practice != decoder.practice:
        if lanes != 1 or architecture == "parallel":
            raise CommandError(f"practice {practice} is for the serial decoder: use --lanes 1")
        decoder = PracticeDecoder(Practice(practice), pipeline=decoder.pipeline, replacement=not no_replacement)
    try:
        verilog = axi_verilog(decoder, name, refresh=refresh)
    except ValueError as error:
        raise CommandError(f"--name {error}") from None
    write_bytes(output, verilog.encode())


def _pattern(_context: click.Context, option: click.Parameter, value: str) -> list[bool]:
    if not value or set(value) - set("01") or "0" not in value:
        raise CommandError(f"--{(option.name or '').replace('_', '-')} {value!r} must be 0s and 1s with at least one 0")
    return [bit == "1" for bit in value]


@cli.command()
@click.argument("file", required=False)
@click.option("--hex", "digits", metavar="BYTES", help="Bytes in hexadecimal in place of a file, such as 'C2 41'.")
@lanes_option
@architecture_option
@any_pipeline_option
@buffer_option
@packed_option
@click.option(
    "--input-pauses", default="0", callback=_pattern, metavar="PATTERN", help="Per clock 1: no input; repeated."
)
@click.option(
    "--output-pauses", default="0", callback=_pattern, metavar="PATTERN", help="Per clock 1: not ready; repeated."
)
@click.option("--vcd", metavar="FILE", help="Write a waveform.")
@click.option("-o", "--output", metavar="FILE", help="Write the decoded text, with U+FFFD.")
@json_option
def simulate(
    file: str | None,
    digits: str | None,
    lanes: int,
    architecture: str | None,
    pipeline: int | None,
    buffer: str | None,
    packed: bool,
    input_pauses: list[bool],
    output_pauses: list[bool],
    vcd: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Decode FILE through the simulated hardware and compare each item with the golden model."""
    from utf8fpga.hdl import Decoder
    from utf8fpga.runs import simulate_file

    if (file is None) == (digits is None):
        raise CommandError("give either FILE or --hex BYTES")
    simulate_file(
        file,
        digits,
        decoder=Decoder(
            lanes=lanes,
            architecture=architecture,
            pipeline=pipeline,
            buffer=buffer,
            packed=packed,
            kind=True,
            length=True,
        ),
        input_pauses=input_pauses,
        output_pauses=output_pauses,
        vcd=vcd,
        output=output,
        as_json=as_json,
    )


@cli.command()
@click.argument("names", nargs=-1, metavar="[CONFIG]...")
@click.option("--list", "listed", is_flag=True, help="List the configurations and the properties.")
@click.option(
    "--property", "wanted", multiple=True, metavar="NAME", help="Only this property; may be given several times."
)
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="How many at a time; one a core unless given.")
@click.option("--timeout", type=click.IntRange(min=1), default=600, show_default=True, help="Seconds a question.")
@click.option("--directory", metavar="DIR", default="build/proof", show_default=True, help="Where counterexamples go.")
@click.option("--traces", is_flag=True, help="Also write the waveform of each cover.")
@click.option(
    "--mutate",
    type=click.IntRange(min=1),
    metavar="N",
    help="Judge N mutants of each netlist, and of each table, instead; unless CONFIG is given, of some decoders.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the mutants.")
@json_option
def prove(
    names: tuple[str, ...],
    listed: bool,
    wanted: tuple[str, ...],
    jobs: int | None,
    timeout: int,
    directory: str,
    traces: bool,
    mutate: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Prove the decoders right on every input, or show the input that one gets wrong.

    CONFIG is one of those that --list lists; all unless given, but those of 16 lanes and more, which take
    minutes each. Exit status 1 where something fails.
    """
    from utf8fpga.proofs import list_proofs, run_mutants, run_proofs

    jobs = jobs or os.cpu_count() or 1
    if listed:
        click.echo(list_proofs(as_json=as_json))
    elif mutate:
        run_mutants(names, mutate, seed=seed, jobs=jobs, seconds=timeout, as_json=as_json)
    else:
        run_proofs(names, wanted, jobs=jobs, seconds=timeout, directory=Path(directory), traces=traces, as_json=as_json)


@cli.command()
@click.argument("board")
@click.option("--directory", metavar="DIR", default="build", show_default=True, help="Where the files go.")
@click.option("--baud", type=click.FloatRange(min=1), default=1e6, show_default=True, help="Of the UART.")
@pipeline_option
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of place and route.")
@click.option("--host", metavar="[USER@]HOST[:PORT]", help="Run the tools there, by SSH with your keys.")
@click.option("--host-tools", metavar="DIR", help="A folder there with the tools; its path without it.")
@json_option
def build(
    board: str,
    directory: str,
    baud: float,
    pipeline: int,
    seed: int,
    host: str | None,
    host_tools: str | None,
    as_json: bool,
) -> None:
    """Build the bitstream for BOARD: UART in, decoder, UART out."""
    from utf8fpga.boards import Host, build_board

    if host_tools and not host:
        raise CommandError("--host-tools is a folder on the host of --host, which is not given")
    where = Host.parse(host, host_tools) if host else None
    report = build_board(board, Path(directory), baud=baud, pipeline=pipeline, seed=seed, host=where, say=say)
    click.echo(json.dumps(report.as_dict(), indent=2) if as_json else str(report))


@cli.command()
@json_option
def boards(as_json: bool) -> None:
    """List the boards that bitstreams can be built for."""
    from utf8fpga.boards import BOARDS

    if as_json:
        known = [{"name": b.name, "family": b.family, "description": b.description} for b in BOARDS.values()]
        click.echo(json.dumps(known, indent=2))
    else:
        rows = [[b.name, b.description] for b in BOARDS.values()]
        click.echo("\n".join(columns(rows, ["board", "device and clock"])))


def _numbers(lowest: int, highest: int) -> Callable[[click.Context, click.Parameter, str | None], tuple[int, ...]]:
    """Reads numbers with commas between them."""

    def read(_context: click.Context, option: click.Parameter, value: str | None) -> tuple[int, ...]:
        if value is None:
            return ()
        numbers = [int(word) if re.fullmatch("[0-9]{1,9}", word) else -1 for word in value.split(",")]
        if not all(lowest <= number <= highest for number in numbers):
            raise CommandError(f"--{option.name} {value!r} must be numbers in {lowest}..{highest}, such as 1,4,16")
        return tuple(dict.fromkeys(numbers))

    return read


def _seeds(_context: click.Context, _option: click.Parameter, value: str) -> tuple[int, ...]:
    found = re.fullmatch("(?:([0-9]{1,6})-)?([0-9]{1,6})", value)
    first, last = (int(found[1] or 1), int(found[2])) if found else (1, 0)
    if not 0 <= last - first < MAX_SEEDS:
        raise CommandError(f"--seeds {value!r} must be how many, or from-to, and 1 to {MAX_SEEDS} of them")
    return tuple(range(first, last + 1))


@cli.command()
@click.option("--device", "devices", multiple=True, metavar="NAME", help="hx8k, up5k or ecp5-85k; all without it.")
@click.option("--lanes", metavar="LIST", callback=_numbers(1, MAX_LANES), help="Bytes a clock, such as 1,4,16.")
@click.option(
    "--architecture", "architectures", multiple=True, type=click.Choice(["serial", "parallel"]), help="Which ones."
)
@click.option("--packed/--sparse", default=None, help="Whether the words of a beat are contiguous.")
@click.option("--pipeline", type=click.IntRange(0), help="Register stages on top of the smallest decoder.")
@click.option(
    "--seeds", default="5", show_default=True, metavar="N or A-B", callback=_seeds, help="Of place and route."
)
@click.option("--jobs", type=click.IntRange(1), help="How many run at once; as many as there are cores without it.")
@click.option("--cache", metavar="DIR", help="Where results are kept; the user's cache without it.")
@click.option("--dask", metavar="ADDRESS", help="Run the jobs on the Dask cluster with this scheduler.")
@click.option("--against", multiple=True, metavar="FILE", help="Another core in Verilog; again for each of its files.")
@click.option("--top", metavar="NAME", help="The module of --against.")
@click.option("--ports", metavar="FILE", help="Its ports, as TOML or JSON: clock, reset, inputs, outputs, constants.")
@click.option("--picture", metavar="FILE", help="Write throughput and area over lanes as SVG.")
@click.option("--software", is_flag=True, help="Measure decode_array instead: ratios to the plain decoder and CPython.")
@click.option("--record", metavar="DIR", help="Write the figures into the README.md of a checkout, and beside it.")
@json_option
def bench(software: bool, as_json: bool, **asked: Any) -> None:
    """Measure area, clock and GB/s with the place and route tools.

    Without a choice of decoders: the serial decoder's settings. Results are kept, so that a run
    that was cut off goes on where it was.
    """
    if software:
        _bench_software(as_json)
        return
    from utf8fpga.measuring import Bench, measure

    measure(Bench(as_json=as_json, **asked))


def _bench_software(as_json: bool) -> None:
    try:
        from utf8fpga.model.arrays import measure_speed
    except ImportError as error:
        raise CommandError(str(error), status=1) from None
    speeds = measure_speed()
    click.echo(json.dumps([speed._asdict() for speed in speeds], indent=2) if as_json else "\n".join(map(str, speeds)))


def _interpret(error: BaseException) -> tuple[str, int]:
    """What is said of an error, and the exit status."""
    from utf8fpga.hdl.tools import ToolError

    if isinstance(error, click.ClickException):
        return error.format_message().rstrip(".").replace("\n", " "), error.exit_code
    if isinstance(error, CommandError):
        return str(error), error.status
    if isinstance(error, ToolError):
        return str(error), 1
    if isinstance(error, TableError | ValueError):
        return str(error), 2
    raise error


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process.

    Args:
        arguments: what it is told, without the program's name; those of the process if None.

    Raises:
        SystemExit: always; the status is 0, 1 for a check that failed, 2 for bad use, 130 after
            Ctrl-C, and 141 where standard output was closed.
    """
    status = 0
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        # Not click's own main, which writes an empty line before it reports an interrupt.
        with cli.make_context("utf8fpga", words) as context:
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        status = done.exit_code
    except KeyboardInterrupt:
        say("utf8fpga: interrupted")
        status = 130
    except BrokenPipeError:
        # Whatever is still buffered has nowhere to go, not even when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        say("utf8fpga: standard output was closed")
        status = 141
    except Exception as error:
        message, status = _interpret(error)
        say(f"utf8fpga: {message}")
    sys.exit(status)
