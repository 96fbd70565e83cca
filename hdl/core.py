# SPDX-License-Identifier: BSD-2-Clause
"""What the rest of the project knows of a core: its parameters, and how they are written down.

A core's parameters are one frozen dataclass, checked when it is made. Each field that a person may choose carries an
`Option`, so that the command line, replay lines, Verilog headers, cache keys and the names of proofs and figures are
made from the parameters and name all of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from amaranth.lib.wiring import Component

from utf8fpga.model import EncodingTable, InvalidArgumentError, forms

__all__ = ["CoreParameters", "Option", "option", "spelled"]


@dataclass(frozen=True)
class Option:
    """How a field of a core's parameters is chosen on the command line.

    Attributes:
        help: one sentence; the default is added where there is one that does not depend on other fields.
        choices: the values, for a field that is one of several words.
        range: the lowest and the highest value, for a number; None where there is no bound.
        metavar: what stands for the value in help texts.
        flags: for a field that is true or false, the option that sets it to true and the one that sets it to false;
            an empty string where there is none.
    """

    help: str
    choices: tuple[str, ...] = ()
    range: tuple[int, int | None] | None = None
    metavar: str | None = None
    flags: tuple[str, str] | None = None


def option(text: str, **details: Any) -> dict[str, Any]:
    """The metadata of a field that the command line offers.

    Args:
        text: the help text.
        details: the other attributes of `Option`.
    """
    return {"option": Option(text, **details)}


@dataclass(frozen=True, kw_only=True)
class CoreParameters:
    """The parameters of a core; each kind of core has a subclass.

    A field whose default depends on others is None in a call and has its value once the object is made, so that equal
    cores have equal parameters.
    """

    core: ClassVar[str]
    """The name of the kind of core: the first word after the command."""

    @classmethod
    def options(cls) -> dict[str, Option]:
        """By field the options of the command line, in the order of the fields."""
        return {each.name: each.metadata["option"] for each in fields(cls) if "option" in each.metadata}

    def _chosen(self) -> Iterator[tuple[str, Option, Any]]:
        """The fields whose values are not what the others and the defaults give."""
        for name, how in self.options().items():
            if not self._follows(name):
                yield name, how, getattr(self, name)

    def _follows(self, name: str) -> bool:
        """Whether the default and the other fields give a field its value."""
        default = next(each.default for each in fields(self) if each.name == name)
        try:
            return replace(self, **{name: default}) == self
        except InvalidArgumentError:
            return False

    def arguments(self) -> list[str]:
        """The words of the command line that choose this core, without those that are not needed."""
        words: list[str] = []
        for name, how, value in self._chosen():
            if how.flags:
                words.append(how.flags[0] if value else how.flags[1])
            else:
                words += [f"--{name.replace('_', '-')}", written(value)]
        return words

    def words(self, without: Collection[str] = ()) -> list[str]:
        """A word or two for each field, but those named, whose value is not what the others and the defaults give."""
        words = []
        for name, how, value in self._chosen():
            if name in without:
                continue
            if how.flags:
                words.append(how.flags[not value].removeprefix("--"))
            else:
                words.append(written(value) if how.choices or name == "lanes" else f"{name} {written(value)}")
        return words

    @property
    def name(self) -> str:
        """A short name that is different for different parameters and fit for a file, such as ``decoder-16-packed``."""
        return re.sub(r"[^a-z0-9]+", "-", "-".join([self.core, *self.words()]).lower())

    def as_dict(self) -> dict[str, Any]:
        """All parameters by name, for JSON; a table by its name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value if isinstance(value, int | None) else written(value) for name, value in values.items()}

    def expression(self) -> str:
        """The Python expression that makes this core, in names of `utf8fpga.hdl` and `utf8fpga.model`."""
        chosen = [each.name for each in fields(self) if each.name != "table" and not self._follows(each.name)]
        given = [f"{name}={plain(getattr(self, name))!r}" for name in chosen]
        if (table := getattr(self, "table", None)) is not None:
            given.insert(0, f"table={spelled(table)}")
        return f"{type(self).__name__}({', '.join(given)}).build()"

    def build(self) -> Component:
        """The circuit."""
        raise NotImplementedError


def spelled(table: EncodingTable) -> str:
    """The name in `utf8fpga.model.forms` of a table.

    >>> from utf8fpga.model import TABLE_3_7
    >>> spelled(TABLE_3_7)
    'TABLE_3_7'
    """
    return next((name for name in forms.__all__ if getattr(forms, name) is table), repr(table.name))


def plain(value: Any) -> Any:
    """A value without its type where that is an enumeration of words."""
    return str(value) if isinstance(value, str) else value


def written(value: Any) -> str:
    """A parameter's value as the command line has it: a table by its name."""
    return str(getattr(value, "name", value)) if not isinstance(value, str) else str(value)
