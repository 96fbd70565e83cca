# SPDX-License-Identifier: BSD-2-Clause
"""The command line of the project, in a separate process or, which is faster, in this process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO
from unittest.mock import patch

from support.processes import run
from support.talk import talk

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


def _here(words: list[str], data: bytes, environment: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    from utf8fpga.cli.main import main

    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(data)
        files[0].seek(0)
        stack.enter_context(patch.dict(os.environ, dict(environment), clear=True))
        stack.enter_context(patch.object(sys, "argv", ["utf8fpga", *words]))
        status: Any = 1
        with _standard_files(files), warnings.catch_warnings():
            try:
                main(words)
            except SystemExit as end:
                status = end.code
            except BaseException:
                traceback.print_exc()
        out, err = (_content(file) for file in files[1:])
    return subprocess.CompletedProcess([*COMMAND, *words], status or 0, out, talk(err.decode()).encode())


@contextmanager
def _standard_files(files: list[BinaryIO]) -> Iterator[None]:
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
