# SPDX-License-Identifier: BSD-2-Clause
"""The command line of the project, in a separate process or, which is faster, in this process."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from io import RawIOBase, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO
from unittest.mock import patch

import click

from support.processes import run

COMMAND = [sys.executable, "-m", "utf8fpga"]
"""The command that starts a separate process."""


def utf8fpga(*arguments: str | Path, data: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command and return its exit status, standard output and standard error.

    It runs in this process unless there are options that require a separate one.

    Args:
        arguments: the words after ``utf8fpga`` on the command line.
        data: the contents of standard input.
        options: options of `subprocess.Popen`; only `env` is possible without a separate process.
    """
    words = list(map(str, arguments))
    if options.keys() - {"env"}:
        done = run([*COMMAND, *words], input=data, capture_output=True, **options)
        done.stderr = talk(done.stderr.decode()).encode()
        return done
    return _here(words, data, options.get("env", os.environ))


def options_of(words: tuple[str, ...]) -> set[str]:
    """The options of a command, but those for help."""
    from utf8fpga.cli.main import cli

    context = click.Context(cli)
    command = cli.get_command(context, words[0]) if words else cli
    command = getattr(command, "commands", {}).get(words[1]) if len(words) > 1 else command
    named = {name for each in command.params for name in (*each.opts, *each.secondary_opts) if name.startswith("--")}
    return named - {"--version"}


def talk(stderr: str) -> str:
    """Standard error without the lines that announce a tool's first start, or that a simulation model is built."""
    announced = r"(\S+ compiles itself at its first start|compiling a simulation model)"
    return re.sub(rf"^utf8fpga: {announced}, .*\n", "", stderr, flags=re.MULTILINE)


def generate(options: str, directory: Path) -> None:
    """Write a core with these options, its contract, its test bench and vectors."""
    names = {"-o": "core.v", "--sva": "core.sv", "--testbench": "core_bench.v", "--vectors": "vectors.hex"}
    files = [word for option, name in names.items() for word in (option, directory / name)]
    done = utf8fpga("generate", *options.split(), "--name", "core", *files)
    assert done.returncode == 0, done.stderr


def _here(words: list[str], data: bytes, environment: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(data)
        files[0].seek(0)
        status = _run_here(words, files, environment)
        out, err = (_content(file) for file in files[1:])
    return subprocess.CompletedProcess([*COMMAND, *words], status, out, talk(err.decode()).encode())


def on_terminal(*arguments: str | Path, **environment: str) -> str:
    """Run the command in this process: what a terminal shows that is standard output and standard error."""
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    variables |= {"TERM": "xterm", "COLUMNS": "80", **environment}
    primary, secondary = pty.openpty()
    with ThreadPoolExecutor(1) as reader, open(primary, "rb", buffering=0) as terminal, open(os.devnull, "rb") as empty:
        shown = reader.submit(_read_terminal, terminal)
        with open(secondary, "wb", buffering=0) as output:
            _run_here(list(map(str, arguments)), [empty, output, output], variables)
        return shown.result().decode().replace("\r\n", "\n")


def _read_terminal(terminal: RawIOBase) -> bytes:
    found = b""
    with suppress(OSError):  # On Linux the read fails when no process has the terminal open any more.
        while piece := terminal.read(10_000):
            found += piece
    return found


def _run_here(words: list[str], files: Sequence[Any], environment: Mapping[str, str]) -> int:
    """The exit status of the command with these standard files."""
    from utf8fpga.cli.main import main

    status: Any = 1
    with (
        patch.dict(os.environ, dict(environment), clear=True),
        patch.object(sys, "argv", ["utf8fpga", *words]),
        _standard_files(files),
        warnings.catch_warnings(),
    ):
        try:
            main(words)
        except SystemExit as end:
            status = end.code
        except BaseException:
            traceback.print_exc()
    return status or 0


@contextmanager
def _standard_files(files: Sequence[Any]) -> Iterator[None]:
    """Redirect standard input, output and error of the block to these files, by descriptor and in `sys`."""
    names = ("stdin", "stdout", "stderr")
    before = [(os.dup(number), getattr(sys, name)) for number, name in enumerate(names)]
    try:
        for number, (name, file) in enumerate(zip(names, files, strict=True)):
            os.dup2(file.fileno(), number)
            stream = open(number, "rb" if name == "stdin" else "wb", closefd=False)  # noqa: SIM115  (closed below)
            setattr(sys, name, TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace"))
        yield
    finally:
        for number, (copy, stream) in enumerate(before):
            getattr(sys, names[number]).close()
            setattr(sys, names[number], stream)
            os.dup2(copy, number)
            os.close(copy)


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()
