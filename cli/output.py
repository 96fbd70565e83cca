# SPDX-License-Identifier: BSD-2-Clause
"""Files, progress and errors, shared by all commands."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain, combinations
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import click

from utf8fpga.model import UserError

CHUNK = 1 << 20
"""Upper bound on the bytes read at once."""


def errors_named(*names: str) -> frozenset[int]:
    """The numbers of those errors of the operating system that this one has."""
    return frozenset(getattr(errno, name) for name in names if hasattr(errno, name))


NO_ROOM = errors_named("ENOSPC", "EDQUOT", "EFBIG", "EIO")
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


def say(text: str) -> None:
    """Print a message to standard error; if that cannot be written, discard it and all later ones."""
    try:
        print(f"{_CLEAR if _shown else ''}{text}", file=sys.stderr, flush=True)
    except OSError:
        # Otherwise Python would fail to flush it at exit, which changes the exit status.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


_CLEAR = "\r\x1b[2K"
"""Clears the line of a terminal."""

_shown: list[str] = []
"""What `progress` shows now."""


@contextmanager
def progress(what: str, total: int | None = None, *, rate: bool = False) -> Iterator[Callable[[int], None]]:
    """A line with the progress of long work, on a terminal only; yields a function for the number done so far.

    Args:
        what: what is done.
        total: the number to be done; None: it is not known.
        rate: the numbers are bytes, and the line shows the bytes per second.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    began, last = time.monotonic(), 0.0

    def show(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _REFRESH_SECONDS:
            return
        last, seconds = now, now - began
        numbers = f"{done / 1000:.0f} kB, {done / max(seconds, 0.1) / 1000:.0f} kB/s" if rate else f"{done}"
        parts = [numbers if done else "", f"of {total}" if total and not rate else "", f"{seconds:.0f} s"]
        line = f"{what} {' '.join(filter(None, parts))}"
        print(f"{_CLEAR}{line[: shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)

    _shown.append(what)
    show(0)
    try:
        yield show
    finally:
        _shown.remove(what)
        print(_CLEAR, end="", file=sys.stderr, flush=True)


_REFRESH_SECONDS = 0.1


def print_above(text: str) -> None:
    """Print a line to standard output while progress is shown."""
    if _shown and sys.stdout.isatty():
        print(_CLEAR, end="", file=sys.stderr, flush=True)
    print(text, flush=True)


def read_error(path: str, error: OSError) -> CommandError:
    """The error for a file, or standard input for ``-``, that cannot be read."""
    closed = path == "-" and error.errno == errno.EBADF
    return CommandError(f"cannot read {path!r}: {'standard input is closed' if closed else error.strerror}")


def wrote(path: str) -> None:
    """Name a file that has been written, on a terminal."""
    if sys.stderr.isatty():
        say(f"wrote {path}")


def write_error(what: str, error: OSError, *, status: int | None = None) -> CommandError:
    """The error for a file that cannot be written; default for its status: 1 if storage is full, else 2."""
    reason = "it is closed" if error.errno == errno.EBADF else error.strerror
    return CommandError(f"cannot write {what}: {reason}", status=status or (1 if error.errno in NO_ROOM else 2))


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Attribute errors of writing in the block to a file or a folder; see `write_error`."""
    try:
        yield
    except BrokenPipeError:
        raise CommandError(f"{path!r} was closed by its reader", status=141) from None
    except OSError as error:
        raise write_error(repr(path), error) from None


def echo(text: str, content: Any, *, as_json: bool) -> None:
    """Print a text to standard output, or its content as JSON."""
    click.echo(json.dumps(content, indent=2) if as_json else text)


def read_chunks(path: str) -> Iterator[bytes]:
    """The contents of a file, or of standard input for ``-``, in chunks of bounded size."""
    try:
        with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
            while chunk := file.read1(CHUNK):
                yield chunk
    except OSError as error:
        raise read_error(path, error) from None


def beginning(chunks: Iterator[bytes], size: int) -> tuple[bool, Iterator[bytes]]:
    """Whether a text has more than `size` bytes; and all its chunks."""
    start: list[bytes] = []
    length = 0
    while length <= size and (chunk := next(chunks, None)) is not None:
        start.append(chunk)
        length += len(chunk)
    return length > size, chain(start, chunks)


def file_size(path: str) -> int | None:
    """The size of a regular file in bytes, also as standard input, ``-``; None for any other file."""
    try:
        found = os.stat(sys.stdin.fileno() if path == "-" else path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def is_standard_output(path: str | None) -> bool:
    """Whether a file name denotes standard output."""
    return path is not None and (path == "-" or _descriptor(path) == 1)


def _descriptor(path: str) -> int | None:
    """The number of the descriptor that a file name such as ``/dev/stdout`` or ``/dev/fd/63`` denotes."""
    name = os.path.normpath(path)
    if name in ("/dev/stdout", "/dev/stderr"):
        return 1 if name == "/dev/stdout" else 2
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/([0-9]{1,9})", name)
    return int(found[1]) if found else None


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
    number = _descriptor(path)
    with naming(path), ExitStack() as stack:
        # Opening the name of a descriptor again would truncate a file to which other processes write.
        target = stack.enter_context(_new_file(path)) if number is None else os.dup(number)
        yield stack.enter_context(open(target, "wb"))


@contextmanager
def _new_file(path: str) -> Iterator[Path]:
    """A temporary name to write to if `path` is or becomes a regular file, else `path` itself.

    The temporary file is renamed to `path` when the block ends without an error.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        if not stat.S_ISFIFO(mode):
            with open(path, "ab"):
                pass  # Raises before any work is done if it is not writable.
        yield Path(path)
        return
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".utf8fpga-{secrets.token_hex(6)}")
    try:
        with beside.open("xb"):
            pass
        yield beside
        if mode is not None:
            beside.chmod(stat.S_IMODE(mode))
        beside.replace(target)
        wrote(path)
    finally:
        beside.unlink(missing_ok=True)


def check_different(paths: Mapping[str, str | None]) -> None:
    """Check that options name different files for their results."""
    named = [(option, path) for option, path in paths.items() if path]
    for (one, first), (other, second) in combinations(named, 2):
        if os.path.realpath(first) == os.path.realpath(second) and not is_special(second):
            raise CommandError(f"{one} and {other} are the same file {second!r}: specify two files")


def is_special(path: str) -> bool:
    """Whether a path is a device or a pipe, to which two results may be written."""
    return os.path.exists(path) and not os.path.isfile(path)


def write_bytes(path: str, data: bytes) -> None:
    """Write a whole file, or standard output for ``-``."""
    with writing(path) as file:
        file.write(data)
