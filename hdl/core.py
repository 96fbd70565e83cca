# SPDX-License-Identifier: BSD-2-Clause
"""The interface of a core to the rest of the project: the attributes of the circuit, and its parameters.

The parameters of a core are one frozen dataclass, validated when an object is made. Each field that a user may choose
has an `Option`. The command line, replay commands, Verilog headers, cache keys and the names of proofs and figures are
derived from the parameters, and therefore complete.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Protocol, get_args, get_origin, get_type_hints

from amaranth.hdl import Elaboratable
from amaranth.lib import stream
from amaranth.lib.wiring import Signature

from utf8fpga.model import CATALOGUE, EncodingTable, InvalidArgumentError, forms
from utf8fpga.model.encodings import Encoding, encoding_word
from utf8fpga.model.golden import BulkGolden, Golden
from utf8fpga.model.table import checked_table


class Stage(Protocol):
    """A circuit with one input and one output stream: a core, or a part of a `Chain`.

    A stage that needs more than one cycle for some beat has the attribute `beat_cycles`: an upper bound on these. One
    that cannot accept a beat per cycle on average has `is_narrow`, which is true.
    """

    input: stream.Interface
    output: stream.Interface

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from the beat that determines an output symbol to the symbol, while no beat waits.

        An output beat waits in a cycle in which `output.valid` is asserted and `output.ready` is not. After that,
        until no symbol is in flight, the bound is `drain_cycles`; so it is in as many cycles after a reset, since that
        of components inside may last longer than `reset_cycles`.
        """

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `input.ready` is deasserted."""

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is deasserted while no output beat waits."""

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all determined symbols have been transferred.

        The cycles are those in which no input beat is accepted and no output beat waits.
        """


class Core(Stage, Protocol):
    """Code that takes any core uses these attributes and those of `Stage` only.

    Ports:
        input: stream of `beat_layout`.
        output: stream of `beat_layout`, without null beats. If symbols have the flag `error`, it is 0 in lanes in
            which `keep` is 0.
    """

    parameters: CoreParameters
    signature: Signature

    @property
    def lanes(self) -> int:
        """Symbols per input beat. The output has the same number of lanes or another one, see `lanes_of`."""

    @property
    def packed(self) -> bool:
        """Whether the symbols of an output beat are contiguous from lane 0."""

    def elaborate(self, platform: object) -> Elaboratable:
        """The circuit."""


@dataclass(frozen=True)
class Option:
    """How a field of a core's parameters is chosen on the command line.

    Attributes:
        help: the help text.
        choices: the permitted values of a field with a word as its value.
        range: the lowest and the highest value of a number; None: no upper bound.
        metavar: the placeholder for the value in help texts.
        named: texts for users have the name of the field in front of its value, though the value is a word.
        flags: of a Boolean field the option that sets it to true and the one that sets it to false; an empty string: no
            such option.
    """

    help: str
    choices: tuple[str, ...] = ()
    range: tuple[int, int | None] | None = None
    metavar: str | None = None
    named: bool = False
    flags: tuple[str, str] | None = None


def option(default: object, text: str, **details: Any) -> Any:
    """A field that has an option on the command line, with the attributes of `Option`."""
    return field(default=default, metadata={"option": Option(text, **details)})


def option_word(field: str) -> str:
    """The option of the command line for a field.

    >>> option_word("from_"), option_word("reset_low")
    ('--from', '--reset-low')
    """
    return f"--{field.rstrip('_').replace('_', '-')}"


@dataclass(frozen=True, kw_only=True)
class CoreParameters:
    """The parameters of a core. Each kind of core has a subclass, which is listed in `CORES`.

    A subclass defines `core`, `build` and `golden`, and redefines methods whose defaults here do not apply.

    A field whose default depends on other fields may be None in the call of the constructor; the object has its value.
    So equal cores have equal parameters.

    The type of each value, and the range or the choices of its `Option`, are checked here; a word becomes the member of
    its enumeration. A subclass that redefines `__post_init__`
    calls this one first.

    Raises:
        InvalidArgumentError: a value has a wrong type or is out of its range.
        TypeError: the value of a table is not an `EncodingTable`.
    """

    core: ClassVar[str]
    """The name of the kind of core, which is the first argument of the commands."""

    input_noun: ClassVar[str] = "byte"
    """The noun for an input symbol in messages and headers."""

    def __post_init__(self) -> None:
        check_types(self)
        own: type = type(self)
        for name, how in self.options().items():
            lowest, highest = how.range or (None, None)
            value = getattr(self, name)
            if lowest is not None and highest is not None and value is not None and not lowest <= value <= highest:
                raise InvalidArgumentError(f"{name} {value} is not in {lowest}..{highest}")
            if how.choices and isinstance(value, str):
                if value not in how.choices:
                    raise InvalidArgumentError(f"{name} {str(value)!r} is not one of {', '.join(how.choices)}")
                self._set(name, field_kinds(own)[name][0](value))

    def _set(self, name: str, value: object) -> None:
        """Set a field, of which the value in the call of the constructor was another one."""
        object.__setattr__(self, name, value)

    @classmethod
    def options(cls) -> dict[str, Option]:
        """The options of the command line by field, in the order of the fields."""
        return {each.name: each.metadata["option"] for each in fields(cls) if "option" in each.metadata}

    def _chosen(self) -> Iterator[tuple[str, Option, Any]]:
        """The fields whose values do not follow from the other fields and the defaults."""
        for name, how in self.options().items():
            if not self._follows(name):
                yield name, how, getattr(self, name)

    def _follows(self, name: str) -> bool:
        """Whether the value of a field follows from its default and the other fields."""
        default = next(each.default for each in fields(self) if each.name == name)
        try:
            return replace(self, **{name: default}) == self
        except InvalidArgumentError:
            return False

    def arguments(self) -> list[str]:
        """The words of the command line that select this core, without redundant ones."""
        words: list[str] = []
        for name, how, value in self._chosen():
            if how.flags:
                words.append(how.flags[0] if value else how.flags[1])
            else:
                word = written(value)
                words += [option_word(name), encoding_word(word) if isinstance(value, EncodingTable) else word]
        return words

    def words(self, without: Collection[str] = ()) -> list[str]:
        """One or two words for each field that does not follow from the others, except for the fields in `without`."""
        words = []
        for name, how, value in self._chosen():
            if name in without:
                continue
            if how.flags:
                words.append(how.flags[not value].removeprefix("--"))
            else:
                words.append(
                    written(value)
                    if (how.choices and not how.named) or name == "lanes"
                    else f"{name.rstrip('_')} {written(value)}"
                )
        return words

    @property
    def name(self) -> str:
        """A short name, unique for the parameters and valid as a file name, such as ``decoder-16-packed``."""
        return re.sub(r"[^a-z0-9]+", "-", "-".join([self.core, *self.words()]).lower())

    def as_dict(self) -> dict[str, Any]:
        """All parameters by name, for JSON. A table is represented by its name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value if isinstance(value, int | None) else written(value) for name, value in values.items()}

    def expression(self) -> str:
        """The Python expression that builds this core, with names of `utf8fpga.hdl` and `utf8fpga.model`."""
        chosen = [each.name for each in fields(self) if each.name != "table" and not self._follows(each.name)]
        given = [f"{name}={plain(getattr(self, name))!r}" for name in chosen]
        if (table := getattr(self, "table", None)) is not None:
            given.insert(0, f"table={spelled(table)}")
        return f"{type(self).__name__}({', '.join(given)}).build()"

    def build(self) -> Core:
        """The circuit."""
        raise NotImplementedError

    @property
    def encodings(self) -> tuple[Encoding | None, Encoding | None]:
        """The encodings whose byte orders the symbols at the input and at the output have; None: they are numbers."""
        return None, None

    @property
    def output_noun(self) -> str:
        """The noun for an output symbol."""
        return "symbol"

    def growth(self, circuit: Core) -> int:
        """The cycles that an input beat of the circuit takes on average on the worst input; 1 if on any input."""
        return 1

    # The golden function, and how its symbols are compared with those of the circuit.

    def golden(self) -> Golden:
        """A new golden function of this core, at the beginning of a packet."""
        raise NotImplementedError

    def bulk_golden(self) -> BulkGolden | None:
        """A fast golden function of this core for bytes as input, at the beginning of a packet; None: there is none.

        Its columns are the fields of the output symbols, `value` for symbols that are not structures.

        Raises:
            ModuleNotFoundError: NumPy is not installed.
        """
        return None

    @property
    def accepts_gaps(self) -> bool:
        """Whether the lanes of an input beat may have symbols or not in any combination, at any place of a packet.

        Default: they are contiguous from lane 0, and all lanes have one unless the packet ends or the beat is null.
        """
        return False

    @property
    def input_table(self) -> EncodingTable | None:
        """The encoding form of the input, near whose bounds a long simulation selects symbols; None: there is none."""
        return None

    def comparable(self, symbol: Any) -> Any:
        """A symbol of the golden function without what the circuit does not output: the result of `observed` for it."""
        return symbol.value

    def observed(self, fields: Mapping[str, int]) -> Any:
        """A symbol of an output beat, in the form that is compared with the golden function.

        Args:
            fields: the fields of the symbol; one named ``value`` if the symbol is not a structure.

        Raises:
            InvalidArgumentError: the fields contradict each other, as the message describes.
        """
        return fields["value"]

    def observable(self) -> CoreParameters:
        """These parameters with all optional output fields that a simulation can compare."""
        return self

    @property
    def absent_symbol(self) -> int | None:
        """The input symbol of a simulation in lanes with `keep` 0, to detect its use; None: all bits are 1."""
        return None

    def as_bytes(self, symbols: Iterable[Any]) -> bytes:
        """The bytes that `simulate --output` writes for symbols of the golden function."""
        return bytes(symbol.value for symbol in symbols)

    @property
    def obstacle(self) -> str:
        """The reason why no command line selects these parameters; empty if one does."""
        return ""

    # Texts for users.

    def input_label(self, symbol: int) -> str:
        """An input symbol in hexadecimal, with at least two digits."""
        return f"{symbol:02X}"

    def label(self, symbol: Any) -> str:
        """An output symbol, in the form of `observed`, as text."""
        return f"{symbol:02X}" if isinstance(symbol, int) else str(symbol)

    @property
    def title(self) -> str:
        """The title in tables."""
        lanes = getattr(self, "lanes", 1)
        several = [f"{lanes} lanes"] if lanes > 1 else []
        return ", ".join([self.core, *several, *self.words(without=("lanes",))])

    @property
    def series(self) -> str:
        """The title of its line in the plot of figures over the number of lanes."""
        return self.core

    def description(self) -> list[str]:
        """Lines that describe the core, for the header of its Verilog."""
        return [f"{self.title}."]

    def notes(self) -> list[str]:
        """Further lines of that header, after the ports and the latency."""
        return []


class TableParameters(CoreParameters):
    """The parameters of a core whose input symbols are code units of a table; `input_noun` is that of such a core."""

    input_noun: ClassVar[str] = "code unit"
    table: EncodingTable

    @property
    def input_table(self) -> EncodingTable:
        """The table."""
        return self.table

    @property
    def absent_symbol(self) -> int:
        """A unit that continues a sequence, if the core does not ignore it."""
        return max(self.table.rows, key=lambda row: len(row.units)).units[-1].last

    @property
    def obstacle(self) -> str:
        """A table outside the catalogue, which no option selects."""
        known = CATALOGUE.get(self.table.name) == self.table
        return "" if known else f"no option selects the table {self.table.name}"


def check_types(values: Any) -> None:
    """Check the type of the value of each field of a dataclass.

    Raises:
        InvalidArgumentError: a value has a wrong type.
        TypeError: the value of a table is not an `EncodingTable`.
    """
    own: type = type(values)
    for name, (kind, is_optional) in field_kinds(own).items():
        value = getattr(values, name)
        if kind is EncodingTable:
            checked_table(value)
        elif (kind := str if issubclass(kind, str) else kind) not in _TYPE_NAMES or (value is None and is_optional):
            continue
        # A Boolean value is an integer in Python.
        elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            wanted = f"{_TYPE_NAMES[kind]}{' or None' if is_optional else ''}"
            raise InvalidArgumentError(f"{name} {value!r} is not {wanted}")


_TYPE_NAMES = {int: "an integer", bool: "True or False", str: "a string"}


@cache
def field_kinds(parameters: type) -> dict[str, tuple[type, bool]]:
    """The type of each field, without its arguments, and whether its value may be None."""
    found, hints = {}, get_type_hints(parameters)
    for each in fields(parameters):
        hint = hints[each.name]
        kind, *others = get_args(hint) if isinstance(hint, UnionType) else [hint]
        found[each.name] = get_origin(kind) or kind, NoneType in others
    return found


def spelled(table: EncodingTable) -> str:
    """The name of a table in `utf8fpga.model.forms`.

    >>> from utf8fpga.model import TABLE_3_7
    >>> spelled(TABLE_3_7)
    'TABLE_3_7'
    """
    return next((name for name in forms.__all__ if getattr(forms, name) is table), repr(table.name))


def plain(value: Any) -> Any:
    """A value with plain strings in place of members of an enumeration of strings."""
    return str(value) if isinstance(value, str) else value


def written(value: Any) -> str:
    """The value of a parameter as a word of the command line; a table by its name."""
    return str(getattr(value, "name", value)) if not isinstance(value, str) else str(value)
