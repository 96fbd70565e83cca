# SPDX-License-Identifier: BSD-2-Clause
"""The process of a command: its streams, its signals, and its error messages."""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable

import click

from utf8fpga.cli.output import say
from utf8fpga.model import UserError
from utf8fpga.model.exceptions import did_you_mean


class _ToStandardError(logging.Handler):
    """Prints the log messages of the library, such as that of a tool's first start, to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"utf8fpga: {record.getMessage()}")


def prepare() -> None:
    """Prepare this process: the library's messages are shown, and Amaranth's warnings of unused circuits are not.

    A command may use only the attributes of a circuit, or be interrupted before it is elaborated.
    """
    logger = logging.getLogger("utf8fpga")
    logger.handlers = [_ToStandardError()]
    logger.setLevel(logging.INFO)
    warnings.filterwarnings("ignore", message="<.* created but never used")


def run(command: Callable[[], None]) -> int:
    """Run a command, and report the error of the user or of the system that ended it.

    Returns:
        The exit status: 0 for success; 1 for a failed check or tool; 2 for incorrect use; 130 after Ctrl-C, SIGTERM or
        SIGHUP; 141 where the reader of the output closed it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # The caller has closed it.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - as long as the process
    prepare()
    _interrupts.clear()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, signal.SIGINT)  # Windows has no SIGHUP.
        # A signal that is ignored, as with nohup, remains ignored.
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    status = 0
    try:
        command()
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        status = done.exit_code
    except (Exception, KeyboardInterrupt) as error:
        # An interrupt in a callback of compiled code is ignored, and may make that code fail.
        if _interrupts or isinstance(error, KeyboardInterrupt):
            say("utf8fpga: interrupted")
            status = 130
        elif isinstance(error, (click.ClickException, UserError, OSError)):
            status = _report(error)
        else:
            raise
    try:
        sys.stdout.flush()
    except OSError:
        # It is reported; Python must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return status


_interrupts: list[int] = []
"""The signals that have interrupted the command."""


def _interrupt(number: int, _frame: object) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


def _report(error: Exception) -> int:
    """Report an error and return the exit status."""
    if isinstance(error, BrokenPipeError):
        return 141  # Silently, as other programs do that a pipe into head ends.
    if isinstance(error, click.ClickException):
        message, status = _usage_error(error), 2
    elif isinstance(error, UserError):
        message, status = str(error), error.exit_status
    else:
        assert isinstance(error, OSError)
        # That of writing to standard output names no file, and that of a full disk need not.
        where, status = (repr(error.filename), 2) if error.filename is not None else ("cannot write", 1)
        message = f"{where}: {error.strerror}"
    say(f"utf8fpga: {message}")
    return status


def _usage_error(error: click.ClickException) -> str:
    """The message for a command line that the parser rejects."""
    if isinstance(error, click.NoSuchOption):
        return f"there is no option {error.option_name}{_instead_of(error)}"
    message = " ".join(error.format_message().rstrip(".").split())
    if isinstance(error, click.UsageError) and error.ctx and type(error) is not click.BadParameter:
        message += f": the usage is {error.ctx.get_usage().removeprefix('Usage: ')}"
    return message[:1].lower() + message[1:]


def _instead_of(error: click.NoSuchOption) -> str:
    """What may have been meant: an option that resembles the unknown one, or a core that has it."""
    assert error.ctx
    cores = getattr(error.ctx.command, "commands", {})
    having = [name for name, core in cores.items() if any(error.option_name in each.opts for each in core.params)]
    if having:
        return f"; it belongs to {' and '.join(having)}"
    near = did_you_mean(error.option_name, error.possibilities or ())
    return near or f"; {error.ctx.command_path} -h lists them"
