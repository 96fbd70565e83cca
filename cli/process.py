# SPDX-License-Identifier: BSD-2-Clause
"""The process of a command: its descriptors, its signals, and its error messages."""

from __future__ import annotations

import io
import logging
import os
import platform
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click

from utf8fpga.cli.output import (
    NO_ROOM,
    CommandError,
    coloured,
    errors_named,
    pip_install,
    say,
    write_error,
)
from utf8fpga.model import UserError
from utf8fpga.model.exceptions import did_you_mean

DEFECT = 70
"""The exit status after a defect of the program: ``EX_SOFTWARE`` of BSD's sysexits."""

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a command after it has cleaned up."""

_ENVIRONMENT = NO_ROOM | errors_named("EROFS", "EACCES", "EPERM", "EMFILE", "ENFILE", "ENOMEM", "EAGAIN")
"""Errors of the operating system that are not defects of the program."""


def processor() -> str:
    """The model of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


class _Terminated(KeyboardInterrupt):
    """A signal has ended the command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _StandardOutput(io.FileIO):
    """Standard output, with errors that name it."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise  # The reader has closed the pipe, which has an exit status of its own.
        except OSError as error:
            raise write_error("standard output", error, status=1) from None


class _ToStandardError(logging.Handler):
    """Prints the log messages of the library, such as that of a tool's first start, to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "first_start", None) != "end":
            say(f"utf8fpga: {record.getMessage()}")


def run(command: Callable[[], None]) -> int:
    """Run a command and report the error that ended it, if any.

    Returns:
        The exit status: 0 for success; 1 for a failed check or tool, or full storage; 2 for incorrect use; `DEFECT`,
        after a traceback, for any error that is not a `UserError`; 130 after Ctrl-C; 141 where the reader of the
        output closed it. A signal in `ENDING` ends the process after the command has cleaned up.
    """
    _prepare()
    status = 0
    try:
        with _catching_signals():
            command()
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        status = done.exit_code
    except _Terminated as ended:
        ignore_unused_circuits()
        say("utf8fpga: terminated")
        status = _end_by(ended)
    except KeyboardInterrupt:
        ignore_unused_circuits()
        say("utf8fpga: interrupted")
        status = 130
    except Exception as error:
        ignore_unused_circuits()
        status = _report(error)
    try:
        sys.stdout.flush()
    except (OSError, UserError) as error:
        # The buffered output cannot be written, so Python must not try again at exit.
        _discard_output()
        status = status or _report(error)
    return status


def ignore_unused_circuits() -> None:
    """Suppress Amaranth's warnings of circuits that are not elaborated: used for attributes only, or interrupted."""
    if hdl := sys.modules.get("amaranth.hdl"):
        warnings.filterwarnings("ignore", category=hdl.UnusedElaboratable)


def _report(error: Exception) -> int:
    """Report an error and return the exit status."""
    if isinstance(error, BrokenPipeError):
        return 141  # Silently, as other programs do that a pipe into head ends.
    if isinstance(error, click.ClickException):
        _say_error(_usage_error(error))
        return error.exit_code
    if (known := error if isinstance(error, UserError) else _environment_error(error)) is not None:
        _say_error(pip_install(str(known)))
        return known.exit_status
    text = "".join(traceback.format_exception(error))
    say(f"{text}utf8fpga: this is a defect of utf8fpga: please report it with the lines above")
    return DEFECT


def _usage_error(error: click.ClickException) -> str:
    """The message for a command line that the parser rejects."""
    if isinstance(error, click.NoSuchOption):
        return f"there is no option {error.option_name}{did_you_mean(error.option_name, error.possibilities or ())}"
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Argument) and error.ctx:
        return f"{error.param.make_metavar(error.ctx)} is missing"
    message = " ".join(error.message.rstrip(".").split())
    return message[:1].lower() + message[1:]


def _say_error(message: str) -> None:
    say(f"{coloured('utf8fpga:', 'red', sys.stderr)} {message}")


def _prepare() -> None:
    """Prepare the standard streams so that every error in them is detected and attributed to them."""
    for number, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # Reserve the number of a closed stream, so that no file gets it. Reading 0 and writing 1 still fail.
            os.open(os.devnull, flags)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as long as the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - likewise
    if sys.stdout is None or (not sys.stdout.isatty() and _descriptor(sys.stdout) == 1):
        encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
        # Escapes characters, such as those of a file name, that the encoding lacks.
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_StandardOutput(1, "w", closefd=False)), encoding, "backslashreplace"
        )
    logger = logging.getLogger("utf8fpga")
    if not any(isinstance(handler, _ToStandardError) for handler in logger.handlers):
        logger.addHandler(_ToStandardError())
        logger.setLevel(logging.INFO)


def _descriptor(file: Any) -> int | None:
    try:
        return int(file.fileno())
    except (OSError, ValueError, AttributeError):
        return None


def _discard_output() -> None:
    """Discard the buffered standard output, which Python would write at exit."""
    if _descriptor(sys.stdout) == 1:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def _catching_signals() -> Iterator[None]:
    """Raise `_Terminated` for signals that end the process, so that no file is left incomplete.

    Running tools are ended first, since threads wait for them.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # A second signal ends the process at once.
        if tools := sys.modules.get("utf8fpga.hdl.toolchain"):
            tools.stop_tools()
        raise _Terminated(number)

    before = {}
    try:
        for number in ENDING:
            # A signal that is ignored, as with nohup, remains ignored.
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, end)
    except ValueError:
        pass  # Only the main thread may set signal handlers.
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_by(terminated: _Terminated) -> int:
    """End the process by the signal; the exit status where that is not possible."""
    signal.signal(terminated.number, signal.SIG_DFL)
    os.kill(os.getpid(), terminated.number)
    return 128 + terminated.number


def _environment_error(error: BaseException) -> CommandError | None:
    """The error for a condition of the system, such as a full disk or lack of memory; None for any other error."""
    if not isinstance(error, OSError):
        return None
    if isinstance(error, FileNotFoundError) and "No usable temporary directory" in str(error.strerror):
        return CommandError("there is no folder for temporary files: name one in TMPDIR", status=1)
    if error.errno not in _ENVIRONMENT:
        return None
    where = f"{error.filename!r}: " if error.filename else ""
    return CommandError(f"{where}{error.strerror}", status=1)
