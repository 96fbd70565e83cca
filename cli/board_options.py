# SPDX-License-Identifier: BSD-2-Clause
"""The options that the commands for boards have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from utf8fpga.boards.forms import BOARD_CORES, BOARD_PIPELINE, FORMS
from utf8fpga.boards.ssh_build import Host
from utf8fpga.cli.core_options import SANITIZER, core_command
from utf8fpga.cli.options import FOLDER, HOST, one_of, reject_others
from utf8fpga.cli.output import CommandError

# The sanitizer is a transcoder, after which it is listed.
_CORES = [word for name in BOARD_CORES for word in ([name, SANITIZER] if name == "transcoder" else [name])]


board_core_command = core_command(cores=_CORES, presets={"pipeline": BOARD_PIPELINE})
"""A decorator for a command with the options of a core of a board; see `core_command`."""


def form_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that adds the option ``--form``; with that of a validator, an option of decoders is rejected."""

    @wraps(command)
    def checked(form: str | None, **given: Any) -> Any:
        if form == "report":
            reject_others("--form report", others=("pipeline",))
        return command(form=form, **given)

    text = "Form of the output; default: that of the core, words for a decoder. That of another core selects the core."
    return click.option("--form", **one_of(FORMS, text))(checked)


def host_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that adds the options of `host_of`."""
    tools = click.option("--host-tools", type=FOLDER, help="Folder on the host with the tools; default: its PATH.")
    host = click.option("--host", type=HOST, help="Run the tools on this host, by SSH with your keys.")
    return host(tools(command))


def host_of(host: str | None, host_tools: str | None) -> Host | None:
    """The host that the options name; None: this machine."""
    if host_tools and not host:
        raise CommandError(f"--host-tools {host_tools!r} is a folder on a host: give --host too")
    return Host.parse(host, host_tools) if host else None
