# SPDX-License-Identifier: BSD-2-Clause
"""What the rest of the project knows of a core: its parameters, and how they are written down.

A core's parameters are one frozen dataclass, checked when it is made. Each field that a person may choose carries an
`Option`, so that the command line, replay lines, Verilog headers, cache keys and the names of proofs and figures are
made from the parameters and name all of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol

from amaranth.hdl import Elaboratable
from amaranth.lib.wiring import Signature

from utf8fpga.model import EncodingTable, InvalidArgumentError, forms
from utf8fpga.model.golden import Golden

__all__ = ["Core", "CoreParameters", "Option", "option", "spelled"]


class Core(Protocol):
    """A circuit with one input and one output stream; no other attribute is used outside of its folder.

    Ports:
        input: stream of `beat_layout`.
        output: stream of `beat_layout`; never a null beat, and `error` is 0 where a symbol has this flag and `keep`
            is 0.
    """

    input: Any
    output: Any
    signature: Signature

    @property
    def lanes(self) -> int:
        """Symbols per beat, at the input and at the output."""

    @property
    def packed(self) -> bool:
        """Whether the symbols of an output beat are contiguous from lane 0."""

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from the beat that determines an output symbol to the symbol, while none waits."""

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `input.ready` is low."""

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is low while no output beat waits."""

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all determined symbols are transferred, if no beat waits in these."""

    def elaborate(self, platform: object) -> Elaboratable:
        """The circuit."""


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
    """The parameters of a core; each kind of core has a subclass, which is listed in `CORES`.

    A subclass defines `core`, `build` and `golden`, and what else differs from the defaults here.

    A field whose default depends on others is None in a call and has its value once the object is made, so that equal
    cores have equal parameters.
    """

    core: ClassVar[str]
    """The name of the kind of core: the first word after the command."""

    input_noun: ClassVar[str] = "byte"
    """What an input symbol is called in messages and headers."""

    output_noun: ClassVar[str] = "symbol"
    """What an output symbol is called."""

    @classmethod
    def of(cls, circuit: Any) -> CoreParameters | None:
        """The parameters that a circuit was built from; None if it is not of this kind.

        By default they are the attribute `parameters` of the circuit.
        """
        found = getattr(circuit, "parameters", None)
        return found if isinstance(found, cls) else None

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

    def build(self) -> Any:
        """The circuit, a `Core`."""
        raise NotImplementedError

    # The golden function, and how its symbols are compared with those of the circuit.

    def golden(self) -> Golden:
        """The golden function of this core, at the beginning of a packet."""
        raise NotImplementedError

    def comparable(self, symbol: Any) -> Any:
        """A symbol of the golden function, as far as the circuit has it; equal to what `observed` returns for it."""
        return symbol.value

    def observed(self, fields: Mapping[str, int], previous: Any) -> Any:
        """A symbol of an output beat, as it is compared with the golden function.

        Args:
            fields: the fields of the symbol; if it is no structure, one with the name ``value``.
            previous: the result for the symbol before it in the packet; None for the first.

        Raises:
            InvalidArgumentError: the fields contradict each other; the message says how.
        """
        return fields["value"]

    def observable(self) -> CoreParameters:
        """These parameters with all fields in the output that a simulation can compare."""
        return self

    @property
    def absent_symbol(self) -> int | None:
        """In a simulation the input symbol in a lane with `keep` 0, chosen to be noticed; None: all bits are 1."""
        return None

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        """What `simulate --output` writes for symbols of the golden function."""
        return bytes(symbol.value for symbol in symbols)

    @property
    def obstacle(self) -> str:
        """Why no command line gives these parameters; empty where one does."""
        return ""

    # Texts for people.

    @property
    def title(self) -> str:
        """The title in tables."""
        lanes = getattr(self, "lanes", 1)
        several = [f"{lanes} lanes"] if lanes > 1 else []
        return ", ".join([self.core, *several, *self.words(without=("lanes",))])

    @property
    def series(self) -> str:
        """The title of the line in the plot of figures over lanes."""
        return self.core

    def description(self) -> list[str]:
        """What the core is, for the header of its Verilog."""
        return [f"{self.title}."]

    def notes(self, circuit: Any) -> list[str]:
        """What its header says beside the ports and the latency."""
        return []


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
