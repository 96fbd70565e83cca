# SPDX-License-Identifier: BSD-2-Clause
"""The reference of the command line, from its help.

``.. commands::`` lists the commands, and ``.. command:: NAME`` describes one.

A command that takes a core has a section with its own options, and one for those of each core.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.rst import escape

from utf8fpga.cli.core_command import CoreCommand
from utf8fpga.cli.main import GROUPS, cli


def _options(program: str, command: click.Command, skipped: set[str]) -> Iterator[str]:
    """The options of a command as lines of reStructuredText, but those in `skipped`."""
    yield from (f".. program:: {program}", "")
    context = click.Context(command)
    for option in command.params:
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record and not {*option.opts} & skipped:
            yield from (f".. option:: {record[0].replace(' / ', ', ')}", "", f"   {escape(record[1])}", "")


def _page(name: str) -> Iterator[str]:
    """The page of a command: what it does, examples, options."""
    command = cli.get_command(click.Context(cli), name)
    assert command
    program = f"utf8fpga {name}"
    cores = command.commands if isinstance(command, CoreCommand) else {}
    yield from (program, "=" * len(program), "")
    for paragraph in (command.help or "").split("\n\n"):
        yield from (escape(" ".join(paragraph.replace("\b", "").split())), "")
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    yield from _section("Usage and examples")
    yield from (".. code-block:: console", "", f"   $ {program} {usage}")
    yield from (f"   {line}" for line in re.findall(r"\$ utf8fpga .*", command.epilog or ""))
    yield from ("", *_section("Options"))
    of_all = _shared([each.params for each in cores.values()])
    of_core = {word for each in command.params for word in each.opts} - of_all if cores else set()
    yield from _options(program, command, of_core)
    for core, each in cores.items():
        yield from _section(f"Options of the {core}")
        yield from _options(f"{program} {core}", each, of_all)


def _section(title: str) -> tuple[str, ...]:
    return (title, "-" * len(title), "")


def _shared(lists: Sequence[Sequence[click.Parameter]]) -> set[str]:
    """The options that are in each list."""
    words = [{word for each in parameters for word in each.opts} for parameters in lists]
    return set.intersection(*words) if words else set()


class CommandDirective(SphinxDirective):
    """A section for a command."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The section."""
        return self.parse_text_to_nodes("\n".join(_page(self.arguments[0])), allow_section_headings=True)


class CommandsDirective(SphinxDirective):
    """The commands with links, by the groups of the help text; their pages follow this one."""

    def run(self) -> list[nodes.Node]:
        """A list for each group."""
        lines = []
        for heading, commands in GROUPS.items():
            lines += [f".. rubric:: {heading}", "   :heading-level: 2", ""]
            for name, text in commands.items():
                lines += [f":doc:`utf8fpga {name} </commands/{name}>`", f"   {text}", ""]
        pages = [f"   /commands/{name}" for commands in GROUPS.values() for name in commands]
        return self.parse_text_to_nodes("\n".join([*lines, ".. toctree::", "   :hidden:", "", *pages]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("command", CommandDirective)
    app.add_directive("commands", CommandsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
