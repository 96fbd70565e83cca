# SPDX-License-Identifier: BSD-2-Clause
"""Files, progress and errors, shared by all commands."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shlex
import shutil
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import click

from utf8fpga.model import UserError

CHUNK = 1 << 20
"""Upper bound on the bytes read at once."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a valid file that cannot store its contents."""


class CommandError(UserError):
    """Incorrect use of the command, or a failed check.

    Args:
        message: one line with what was wrong, the value, and what would be correct.
        status: the exit status: 2 for incorrect use, 1 for a failed check.
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.exit_status = status


def pip_install(message: str) -> str:
    """A message in which the command of pip is that of this Python, whatever the shell finds as pip.

    ``pip install 'utf8fpga[fast]'`` needs no release of utf8fpga: pip adds the extra to the one that is installed.
    """
    found = shutil.which("pip")
    is_own = found is not None and Path(found).parent == Path(sys.executable).parent
    return message if is_own else message.replace("pip install", f"{shlex.quote(sys.executable)} -m pip install")


def coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    """A text in a colour, if a stream shows colours; default: standard output.

    The variable NO_COLOR prevents colours; otherwise FORCE_COLOR requires them, or else a terminal has them.
    """
    stream = stream or sys.stdout
    is_shown = os.environ.get("FORCE_COLOR") or (stream.isatty() and os.environ.get("TERM") != "dumb")
    return click.style(text, fg=colour) if is_shown and not os.environ.get("NO_COLOR") else text


# Messages and progress

_CLEAR = "\r\x1b[2K"
"""Clears the line of a terminal."""

_REFRESH_SECONDS = 0.2

_printing = threading.Lock()
_shown: list[str] = []
"""What `progress` shows now."""


def say(text: str) -> None:
    """Print a message to standard error; if that cannot be written, discard it and all later ones."""
    try:
        with _printing:
            print(f"{_CLEAR if _shown else ''}{text}", file=sys.stderr, flush=True)
    except OSError:
        # Otherwise Python would fail to flush it at exit, which changes the exit status.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def print_above(text: str) -> None:
    """Print a line to standard output while progress is shown."""
    with _printing:
        if _shown and sys.stdout.isatty():
            print(_CLEAR, end="", file=sys.stderr, flush=True)
        print(text, flush=True)


@contextmanager
def progress(what: str, total: int | None = None, *, rate: bool = False) -> Iterator[Callable[[int], None]]:
    """A line with the progress of long work, on a terminal only; yields a function for the number done so far.

    A thread shows it, so that the seconds go on while nothing is reported.

    Args:
        what: what is done.
        total: the number to be done; None: it is not known.
        rate: the numbers are bytes, and the line shows the bytes per second.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    began, done, ended = time.monotonic(), 0, threading.Event()

    def count(number: int) -> None:
        nonlocal done
        done = number

    def show() -> None:
        while True:
            seconds = time.monotonic() - began
            numbers = f"{done / 1000:.0f} kB, {done / max(seconds, 0.1) / 1000:.0f} kB/s" if rate else f"{done}"
            parts = [what, numbers if done else "", f"of {total}" if total and not rate else "", f"{seconds:.0f} s"]
            line = " ".join(filter(None, parts))[: shutil.get_terminal_size().columns - 1]
            with _printing:
                print(f"{_CLEAR}{line}", end="", file=sys.stderr, flush=True)
            if ended.wait(_REFRESH_SECONDS):
                return

    _shown.append(what)
    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield count
    finally:
        ended.set()
        thread.join()
        _shown.remove(what)
        print(_CLEAR, end="", file=sys.stderr, flush=True)


def echo(text: str, content: Any, *, as_json: bool) -> None:
    """Print a text to standard output, or its content as JSON."""
    click.echo(json.dumps(content, indent=2) if as_json else text)


# Files


def read_error(path: str, error: OSError) -> CommandError:
    """The error for a file, or standard input for ``-``, that cannot be read."""
    closed = path == "-" and error.errno == errno.EBADF
    return CommandError(f"cannot read {path!r}: {'standard input is closed' if closed else error.strerror}")


def read_chunks(path: str) -> Iterator[bytes]:
    """The contents of a file, or of standard input for ``-``, in chunks of bounded size."""
    try:
        with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
            while chunk := file.read1(CHUNK):
                yield chunk
    except OSError as error:
        raise read_error(path, error) from None


def file_size(path: str) -> int | None:
    """The size of a regular file in bytes, also as standard input, ``-``; None for any other file."""
    try:
        found = os.stat(sys.stdin.fileno() if path == "-" else path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def is_standard_output(path: str | None) -> bool:
    """Whether a file name denotes standard output."""
    return path in ("-", "/dev/stdout")


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Attribute errors of writing in the block to a file or a folder: status 1 if storage is full, else 2."""
    try:
        yield
    except BrokenPipeError:
        raise CommandError(f"{path!r} was closed by its reader", status=141) from None
    except OSError as error:
        status = 1 if error.errno in NO_ROOM else 2
        raise CommandError(f"cannot write {path!r}: {error.strerror}", status) from None


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """A file to write, or standard output for ``-``.

    A regular file is replaced only when the block ends without an error; until then an older file of
    that name is unchanged. Any other file, such as a pipe, is written directly.
    """
    if is_standard_output(path):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with naming(path):
        mode = os.stat(path).st_mode if os.path.exists(path) else None
        if mode is not None and not stat.S_ISREG(mode):
            with open(path, "wb") as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        beside = target.with_name(f".utf8fpga-{secrets.token_hex(6)}")
        try:
            with beside.open("xb") as file:
                yield file
            if mode is not None:
                beside.chmod(stat.S_IMODE(mode))
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    if sys.stderr.isatty():
        say(f"wrote {path}")


def write_bytes(path: str, data: bytes) -> None:
    """Write a whole file, or standard output for ``-``."""
    with writing(path) as file:
        file.write(data)


def check_different(paths: Mapping[str, str | None]) -> None:
    """Check that options name different files for their results, unless they are devices or pipes."""
    named = [(option, path) for option, path in paths.items() if path]
    for (one, first), (other, second) in combinations(named, 2):
        is_special = os.path.exists(second) and not os.path.isfile(second)
        if os.path.realpath(first) == os.path.realpath(second) and not is_special:
            raise CommandError(f"{one} and {other} are the same file {second!r}: specify two files")
