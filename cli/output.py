# SPDX-License-Identifier: BSD-2-Clause
"""Files, progress and errors, shared by all commands."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import click

from utf8fpga.model import UserError

CHUNK = 1 << 20
"""Upper bound on the bytes read at once."""


class CommandError(UserError):
    """Incorrect use of the command, or a failed check.

    Args:
        message: one line with what was wrong, the value, and what would be correct.
        status: the exit status: 2 for incorrect use, 1 for a failed check.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.exit_status = status


# Messages and progress

_CLEAR = "\r\x1b[2K"
"""Clears the line of a terminal."""

_REFRESH_SECONDS = 0.2


def coloured(text: str, colour: str) -> str:
    """A text in a colour if standard output is a terminal, and the variable NO_COLOR is not set."""
    return click.style(text, fg=colour) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def say(text: str, *, err: bool = True) -> None:
    """Print a line to standard error or, unless `err`, to standard output; on a terminal it replaces the progress."""
    is_terminal = (sys.stderr if err else sys.stdout).isatty()
    click.echo(f"{_CLEAR if is_terminal else ''}{text}", err=err)


def echo(text: str, content: Any, *, as_json: bool) -> None:
    """Print a text to standard output, or its content as JSON."""
    click.echo(json.dumps(content, indent=2) if as_json else text)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A line with the progress of long work, on a terminal only; yields a function for the number done so far."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    following = 0.0

    def show(done: int) -> None:
        nonlocal following
        if time.monotonic() >= following:
            following = time.monotonic() + _REFRESH_SECONDS
            numbers = f" {done} of {total}" if total else f" {done}"
            line = f"{what}{numbers if done else ''}"[: shutil.get_terminal_size().columns - 1]
            click.echo(f"{_CLEAR}{line}", nl=False, err=True)

    show(0)
    try:
        yield show
    finally:
        click.echo(_CLEAR, nl=False, err=True)


# Files


def read_chunks(path: str) -> Iterator[bytes]:
    """The contents of a file, or of standard input for ``-``, in chunks of bounded size."""
    opened: Any = nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb")  # noqa: SIM115  (closed below)
    with opened as file:
        while chunk := file.read1(CHUNK):
            yield chunk


def is_standard_output(path: str) -> bool:
    """Whether a file name denotes standard output."""
    return path in ("-", "/dev/stdout")


@contextmanager
def replacing(path: str) -> Iterator[Path]:
    """A new file beside `path`, which replaces it when the block ends without an error.

    Any other file, such as a pipe, is written directly.
    """
    is_special = os.path.exists(path) and not os.path.isfile(path)
    target = Path(path) if is_special else Path(path).resolve()
    written = target if is_special else target.with_name(f".utf8fpga-{secrets.token_hex(6)}")
    try:
        if not is_special:
            written.touch()  # Where it cannot be written, long work does not begin.
        yield written
        if not is_special:
            if target.exists():
                shutil.copymode(target, written)
            written.replace(target)
    except OSError as error:
        # That of a full disk names no file.
        if error.filename in (None, str(written)):
            raise OSError(error.errno, error.strerror, path) from None
        raise
    finally:
        if not is_special:
            written.unlink(missing_ok=True)


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """A file to write, see `replacing`, or standard output for ``-``."""
    if is_standard_output(path):
        yield sys.stdout.buffer
        return
    with replacing(path) as written, written.open("wb") as file:
        yield file


def write_bytes(path: str, data: bytes) -> None:
    """Write a whole file, or standard output for ``-``."""
    with writing(path) as file:
        file.write(data)
