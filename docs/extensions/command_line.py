# SPDX-License-Identifier: BSD-2-Clause
"""The reference of the command line: ``.. commands::`` lists the commands, ``.. command:: NAME`` describes one of them.

The description is that of sphinx-click, with one section for each core that the command accepts.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from utf8fpga.cli import main
from utf8fpga.cli.core_command import CoreCommand

_PROGRAM = "utf8fpga"


def _command(name: str) -> click.Command:
    command = main.cli.get_command(click.Context(main.cli), name)
    assert command is not None, name
    return command


def _forms(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command, and the same for the other cores, with the words that select them."""
    yield name, command.default if isinstance(command, CoreCommand) else _plain(command)
    if isinstance(command, CoreCommand):
        others = list(command.commands.items())[1:]
        yield from ((f"{name} {core}", each) for core, each in others)


def _plain(command: click.Command) -> click.Command:
    """A group of commands, with a command for each form of its commands; another command as it is."""
    if not isinstance(command, click.Group):
        return command
    named = []
    for name, each in command.commands.items():
        for words, form in _forms(name, each):
            named.append(copy.copy(form))
            named[-1].name = words
    return click.Group(
        command.name,
        named,
        help=command.help,
        params=command.params,
        invoke_without_command=command.invoke_without_command,
    )


def __getattr__(name: str) -> click.Command:
    """The command that sphinx-click imports: its words, with ``__`` in place of spaces."""
    words = name.split("__")
    for form, command in _forms(words[0], _command(words[0])) if words[0] in main.COMMANDS else ():
        if form == " ".join(words):
            return command
    raise AttributeError(name)


class CommandDirective(SphinxDirective):
    """A section for a command, in which each other core has a section with its options folded."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The section."""
        name = self.arguments[0]
        sections: list[Any] = []
        for words, _ in _forms(name, _command(name)):
            text = (
                f".. click:: command_line:{words.replace(' ', '__')}\n   :prog: {_PROGRAM} {words}\n   :nested: full\n"
            )
            sections += self.parse_text_to_nodes(text, allow_section_headings=True)
        first, *others = sections
        # In a group of commands, those for other cores are sections with several words.
        within = [each for each in first.findall(nodes.section) if each is not first and " " in each[0].astext()]
        for section in [*others, *within]:
            _fold_options(section)
        first += others
        return [first]


def _fold_options(section: nodes.section) -> None:
    """Put what follows the heading of the options into an element that opens when a reader, or a link, asks for it."""
    places = [at for at, node in enumerate(section) if isinstance(node, nodes.rubric) and node.astext() == "Options"]
    for at in places:
        folded = section.children[at + 1 :]
        del section[at:]
        section += nodes.raw("", "<details class='options'><summary>Options</summary>", format="html")
        section += folded
        section += nodes.raw("", "</details>", format="html")


class CommandsDirective(SphinxDirective):
    """The commands with links, by the groups of the help text; their pages follow this one."""

    def run(self) -> list[nodes.Node]:
        """A list for each group."""
        lines = []
        for heading, names in main.GROUPS.items():
            lines += [f".. rubric:: {heading}", "   :heading-level: 2", ""]
            for name in names:
                # On a manual page an address would follow the link.
                for tag, link in (
                    ("html", f":doc:`{_PROGRAM} {name} </commands/{name}>`"),
                    ("man", f"{_PROGRAM} {name}"),
                ):
                    summary = _command(name).get_short_help_str(120)
                    lines += [f".. only:: {tag}", "", f"   {link}", f"      {summary}", ""]
        pages = [f"   /commands/{name}" for names in main.GROUPS.values() for name in names]
        lines += [".. toctree::", "   :hidden:", "", *pages]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("command", CommandDirective)
    app.add_directive("commands", CommandsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
