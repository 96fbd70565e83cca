# SPDX-License-Identifier: BSD-2-Clause
"""The parameters of each core, and the command-line options that choose them.

Parameters are data: a frozen dataclass for each kind of core, whose values are checked when an object is made. What
follows from them, such as the circuit, is in `utf8fpga.hdl.cores`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from utf8fpga.model import CATALOGUE, TABLE_3_7, EncodingTable, InvalidArgumentError, forms
from utf8fpga.model.named import checked_table, encoding_word

MAX_LANES = 256
"""Upper bound on the lanes of a decoder, transcoder, sanitizer or validator."""

MAX_PACKER_LANES = 64
"""Upper bound on the lanes of an encoder or remover."""

MAX_BITS = 64
"""Upper bound on the bits of the data of a remover's symbol, and on those of its ``tuser``."""

OPTIMIZE = ("area", "speed")
"""What a circuit is optimised for."""

GATE_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
"""The names of the encodings that encoders and transcoders have."""


@dataclass(frozen=True)
class Option:
    """How a field is chosen on the command line.

    Attributes:
        help: the help text.
        choices: the permitted words; for a table, the names of the tables.
        range: the lowest and the highest value of a number.
        flags: of a Boolean field the option that sets it to true and the one that sets it to false; an empty string: no
            such option.
    """

    help: str
    choices: tuple[str, ...] = ()
    range: tuple[int, int] | None = None
    flags: tuple[str, str] | None = None


def option(default: object, text: str, **details: Any) -> Any:
    """A field with a default value and the attributes of its `Option`."""
    return field(default=default, metadata={"option": Option(text, **details)})


_BYTE_TABLES = (TABLE_3_7.name, forms.RFC_2279.name, forms.GENERALISED_UTF_8.name)
_TABLE = {"option": Option("The encoding form.", choices=(*_BYTE_TABLES, forms.UTF_16.name))}
_BYTE_TABLE = {"option": Option("The encoding form.", choices=_BYTE_TABLES)}


def option_word(field: str) -> str:
    """The option of the command line for a field.

    >>> option_word("from_"), option_word("replace_with")
    ('--from', '--replace-with')
    """
    return f"--{field.rstrip('_').replace('_', '-')}"


@dataclass(frozen=True, kw_only=True)
class CoreParameters:
    """The parameters of a core. Each kind of core has a subclass, whose fields are made by `option`.

    Raises:
        InvalidArgumentError: a value is not one of its option.
        TypeError: the value of a table is neither an `EncodingTable` nor the name of one.
    """

    core: ClassVar[str]
    """The name of the kind of core, which is the first argument of the commands."""

    @property
    def lanes(self) -> int:
        """Symbols per beat, a field of each kind of core."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        for each in fields(self):
            name, value, how = each.name, getattr(self, each.name), each.metadata["option"]
            if isinstance(each.default, EncodingTable):  # Its name as a word is accepted, too.
                object.__setattr__(self, name, checked_table(value))
            elif how.range and not how.range[0] <= value <= how.range[1]:
                raise InvalidArgumentError(f"{name} {value} is not in {how.range[0]}..{how.range[1]}")
            elif how.choices and value not in how.choices:
                raise InvalidArgumentError(f"{name} {value!r} is not one of {', '.join(how.choices)}")

    @classmethod
    def options(cls) -> dict[str, Option]:
        """The options of the command line by field."""
        return {each.name: each.metadata["option"] for each in fields(cls)}

    def as_dict(self) -> dict[str, Any]:
        """All parameters by name, for JSON. A table is represented by its name."""
        return {name: _text(value) if name == "table" else value for name, value in vars(self).items()}

    def chosen(self) -> dict[str, Any]:
        """The fields whose values do not follow from the defaults and the lanes."""
        own: Any = type(self)
        usual = {**vars(own(lanes=self.lanes)), "lanes": own().lanes}
        return {name: value for name, value in vars(self).items() if value != usual[name]}

    def arguments(self) -> list[str]:
        """The words of the command line that select this core, without its name and without redundant ones."""
        words: list[str] = []
        for name, value in self.chosen().items():
            if flags := self.options()[name].flags:
                words.append(flags[0] if value else flags[1])
            else:
                words += [option_word(name), encoding_word(_text(value)) if name == "table" else _text(value)]
        return words

    def words(self, without: tuple[str, ...] = ()) -> list[str]:
        """One or two words for each chosen field, for names and titles; several lanes are always among them."""
        values = self.chosen() | ({"lanes": self.lanes} if self.lanes > 1 else {})
        words = []
        for name, how in self.options().items():
            if name in without or name not in values:
                continue
            if how.flags:
                words.append(how.flags[not values[name]].removeprefix("--"))
            else:
                text = _text(values[name])
                words.append(text if name in _SHORT else f"{name.rstrip('_')} {text}")
        return words

    @property
    def name(self) -> str:
        """A short name, unique for the parameters and valid as a file name, such as ``decoder-16-sparse``."""
        return re.sub(r"[^a-z0-9]+", "-", "-".join([self.core, *self.words()]).lower())

    def expression(self) -> str:
        """The Python expression that makes them, with names of `utf8fpga.hdl` and `utf8fpga.model`."""
        chosen = [f"{name}={_spelled(value)}" for name, value in self.chosen().items()]
        return f"{type(self).__name__}({', '.join(chosen)})"

    @property
    def obstacle(self) -> str:
        """The reason why no command line selects these parameters, a table that it does not know; empty if one does."""
        table = getattr(self, "table", TABLE_3_7)
        return "" if CATALOGUE.get(table.name) == table else f"no option selects the table {table.name}"


@dataclass(frozen=True, kw_only=True)
class WindowParameters(CoreParameters):
    """What decoders, sanitizers and validators have in common.

    Attributes:
        table: the encoding form; default: UTF-8.
        lanes: code units per beat, 1 to 256; default: 1.
        optimize: ``speed`` (default), as many register stages as let the clock network of an ECP5 of speed grade 6 be
            the limit, or ``area``, as few as possible.
    """

    table: EncodingTable = field(default=TABLE_3_7, metadata=_TABLE)
    lanes: int = option(1, "Code units per beat.", range=(1, MAX_LANES))
    optimize: str = option("speed", "Small or fast.", choices=OPTIMIZE)


@dataclass(frozen=True, kw_only=True)
class DecoderParameters(WindowParameters):
    """The parameters of a decoder.

    Attributes:
        packed: the words of an output beat are contiguous from word 0 (default); otherwise they are in order and may
            have gaps between them (sparse). With one lane there is nothing to pack, and the value is False.
        kind: items have the cause of their error.

    >>> DecoderParameters(lanes=16, packed=False).arguments()
    ['--lanes', '16', '--sparse']
    >>> DecoderParameters(optimize="area", kind=True).name
    'decoder-area-kind'
    """

    core: ClassVar[str] = "decoder"

    packed: bool = option(True, "Words without gaps (default), or with, but smaller.", flags=("--packed", "--sparse"))
    kind: bool = option(False, "The cause of each error in m_axis_tuser.", flags=("--kind", ""))

    def __post_init__(self) -> None:
        super().__post_init__()
        # The output of one lane is contiguous without a packer; so equal decoders have equal parameters.
        object.__setattr__(self, "packed", self.packed and self.lanes > 1)


@dataclass(frozen=True, kw_only=True)
class EncoderParameters(CoreParameters):
    """The parameters of an encoder.

    Attributes:
        to: the name of the encoding of the output, one of `GATE_ENCODINGS`; default: UTF-8.
        lanes: words per beat, 1 to 64; default: 1.

    >>> EncoderParameters(to="utf-16-le", lanes=4).name
    'encoder-utf-16-le-4'
    """

    core: ClassVar[str] = "encoder"

    to: str = option("utf-8", "The encoding of the output.", choices=GATE_ENCODINGS)
    lanes: int = option(1, "Words per beat.", range=(1, MAX_PACKER_LANES))


@dataclass(frozen=True, kw_only=True)
class TranscoderParameters(CoreParameters):
    """The parameters of a transcoder.

    Attributes:
        to: the name of the encoding of the output, one of `GATE_ENCODINGS`; default: UTF-8. If it is that of the input,
            ill-formed text becomes well-formed text, and well-formed text remains as it is.
        from_: the name of the encoding of the input, one of `GATE_ENCODINGS`; default: UTF-8.
        lanes: input units per beat, 1 to 256; default: 1.
        optimize: see `WindowParameters`.

    >>> TranscoderParameters(from_="utf-16-le").name
    'transcoder-from-utf-16-le'
    """

    core: ClassVar[str] = "transcoder"

    to: str = option("utf-8", "The encoding of the output.", choices=GATE_ENCODINGS)
    from_: str = option("utf-8", "The encoding of the input.", choices=GATE_ENCODINGS)
    lanes: int = option(1, "Code units per beat.", range=(1, MAX_LANES))
    optimize: str = option("speed", "Small or fast.", choices=OPTIMIZE)


@dataclass(frozen=True, kw_only=True)
class SanitizerParameters(WindowParameters):
    """The parameters of a sanitizer.

    Attributes:
        replace_with: what each unit of an ill-formed subsequence becomes: ``question-mark`` (default), U+003F, or
            ``none``: it remains as it is. The error flag is set in both cases.

    >>> SanitizerParameters(lanes=8, replace_with="none").arguments()
    ['--lanes', '8', '--replace-with', 'none']
    """

    core: ClassVar[str] = "sanitizer"

    replace_with: str = option("question-mark", "For ill-formed units.", choices=("question-mark", "none"))


@dataclass(frozen=True, kw_only=True)
class ValidatorParameters(WindowParameters):
    """The parameters of a validator, whose table is one of bytes."""

    core: ClassVar[str] = "validator"

    table: EncodingTable = field(default=TABLE_3_7, metadata=_BYTE_TABLE)


@dataclass(frozen=True, kw_only=True)
class RemoverParameters(CoreParameters):
    """The parameters of a null-word remover.

    Attributes:
        lanes: symbols per beat, 2 to 64; default: 4.
        width: bits of the data of a symbol, 1 to 64; default: 8.
        user: bits of ``tuser`` for each symbol, 0 to 64; default: 0, no ``tuser``.

    >>> RemoverParameters(user=1).name
    'remover-4-user-1'
    """

    core: ClassVar[str] = "remover"

    lanes: int = option(4, "Symbols per beat.", range=(2, MAX_PACKER_LANES))
    width: int = option(8, "Bits of the data of a symbol.", range=(1, MAX_BITS))
    user: int = option(0, "Bits of tuser for each symbol.", range=(0, MAX_BITS))


_SHORT = ("table", "lanes", "to", "optimize")
"""The fields whose values are words of a name by themselves."""


def _spelled(value: Any) -> str:
    """A value in Python; a table by its name in `utf8fpga.model.forms`."""
    return next((name for name in forms.__all__ if getattr(forms, name) is value), repr(value))


def _text(value: Any) -> str:
    """A value as text; a table by its name."""
    return value.name if isinstance(value, EncodingTable) else str(value)
