# SPDX-License-Identifier: BSD-2-Clause
"""The command line for its reference: with one command for each core that a command accepts."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping

import click

from utf8fpga.cli.core_options import CoreCommand
from utf8fpga.cli.main import COMMANDS, cli

__all__ = ["reference"]


def _named(name: str, command: click.Command) -> Iterator[click.Command]:
    """A command, and the same for the other cores, whose names contain the words that select the core."""
    if isinstance(command, click.Group):
        command = _group(command, command.commands)
    found = {name: command}
    if isinstance(command, CoreCommand):
        found |= {f"{name} {words}": each for words, each in command.others.items()}
    for words, each in found.items():
        each = copy.copy(each)
        each.name = words
        yield each


def _group(group: click.Group, commands: Mapping[str, click.Command]) -> click.Group:
    named = [each for name, command in commands.items() for each in _named(name, command)]
    return click.Group(
        group.name,
        named,
        help=group.help,
        params=group.params,
        invoke_without_command=group.invoke_without_command,
    )


def _all() -> dict[str, click.Command]:
    context = click.Context(cli)
    return {name: command for name in COMMANDS if (command := cli.get_command(context, name))}


reference = _group(cli, _all())
"""The group of all commands."""
