# SPDX-License-Identifier: BSD-2-Clause
"""Beats of symbols at the input and the output of a core, as integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import cycle, repeat
from operator import index
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data

from utf8fpga.hdl import Core, CoreEntry
from utf8fpga.hdl.beats import lanes_of, symbol_shape
from utf8fpga.model import InvalidArgumentError
from utf8fpga.model.render import counted
from utf8fpga.sim.contract import ContractError

Beat = tuple[tuple[int | None, ...], bool]
"""An input beat: for its lanes from lane 0 on the symbol, or None where there is none, and `last`."""

NULL_BEAT: Beat = ((), False)
"""A null beat: neither a symbol nor `last`. It has no effect."""


def is_null(beat: Beat) -> bool:
    """Whether a beat has neither a symbol nor `last`."""
    slots, last = beat
    return not last and all(slot is None for slot in slots)


@dataclass(frozen=True)
class StreamOptions:
    """How texts are sent to a core, and how its output is received. Each pattern is repeated as often as necessary.

    Attributes:
        input_pauses: for each cycle, whether the next input beat is delayed. Once `valid` is asserted it stays asserted
            until the beat is transferred.
        output_pauses: for each cycle, whether `ready` is deasserted at the output.
        separate_ends: for each text, whether `last` is in a beat without symbols. It always is where the text is empty.
        null_beats: for each input beat, whether it is a null beat; otherwise it is the next beat of the texts.
        gaps: for each lane of the beats of the texts, whether it has no symbol; only for a core that accepts gaps, see
            `CoreEntry.accepts_gaps`.

    Raises:
        InvalidArgumentError: a pattern is empty, or has no False, which only `separate_ends` may.
    """

    input_pauses: Sequence[bool] = (False,)
    output_pauses: Sequence[bool] = (False,)
    separate_ends: Sequence[bool] = (False,)
    null_beats: Sequence[bool] = (False,)
    gaps: Sequence[bool] = (False,)

    def __post_init__(self) -> None:
        for each in fields(self):
            pattern = getattr(self, each.name)
            if not pattern or (all(pattern) and each.name != "separate_ends"):
                raise InvalidArgumentError(f"{each.name} {list(pattern)!r} has no False: include one")

    @property
    def arguments(self) -> list[str]:
        """The words of the command `simulate` for the pauses."""
        words = []
        for name in ("input_pauses", "output_pauses"):
            if any(pattern := getattr(self, name)):
                words += [f"--{name.replace('_', '-')}", "".join(str(int(is_set)) for is_set in pattern)]
        return words

    @property
    def obstacle(self) -> str:
        """The reason why no command line has these options; empty if one has."""
        others = ("separate_ends", "null_beats", "gaps")
        used = [name.replace("_", " ") for name in others if any(getattr(self, name))]
        return f"no command line sends {' or '.join(used)}" if used else ""

    @property
    def simpler(self) -> Iterator[StreamOptions]:
        """For each option, these options with that one at its default."""
        for each in fields(self):
            default: Any = each.default
            yield replace(self, **{each.name: default})


PLAIN = StreamOptions()
"""Beats without pauses, null beats and gaps."""


def symbol_width(core: Core) -> int:
    """The bits of an input symbol of a core."""
    return int(Shape.cast(symbol_shape(core.input)).width)


def symbol_bytes(width: int) -> int:
    """The bytes of a symbol of some bits in a file."""
    return -(-width // 8)


def symbols_from(data: bytes, width: int) -> list[int]:
    """The symbols in a file, each in the bytes that it needs, the low bits first: the order of ``s_axis_tdata``.

    Raises:
        InvalidArgumentError: the bytes at the end are too few for a symbol.
    """
    size = symbol_bytes(width)
    if left := len(data) % size:
        raise InvalidArgumentError(
            f"{counted(left, 'byte')} at offset {len(data) - left} of the input, but a symbol of"
            f" {width} bits has {size} bytes"
        )
    return [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]


def text_beats(
    text: Iterable[int], lanes: int, *, separate_end: bool = False, gaps: Iterator[bool] | None = None
) -> Iterator[Beat]:
    """The input beats of a text, all full except the last, or with gaps, for a core that accepts them.

    Args:
        lanes: the number of symbols in a full beat.
        separate_end: `last` is in a beat without symbols if the beat before has a symbol in its last lane; it always
            is where the text is empty.
        gaps: for each lane of the beats, until the last symbol, whether it has no symbol; default: none.
    """
    symbols, gaps = iter(text), gaps or repeat(False)
    upcoming = next(symbols, None)
    is_open = True
    while is_open:
        slots: list[int | None] = []
        while len(slots) < lanes and upcoming is not None:
            if next(gaps):
                slots.append(None)
            else:
                slots.append(upcoming)
                upcoming = next(symbols, None)
        is_open = upcoming is not None or (separate_end and len(slots) == lanes)
        yield tuple(slots), not is_open


def with_null_beats(beats: Iterable[Beat], null_beats: Sequence[bool]) -> Iterator[Beat]:
    """Insert null beats into a sequence of input beats.

    Args:
        null_beats: for each beat of the result, repeated, whether it is a null beat; at least one is not.
    """
    pattern = cycle(null_beats)
    for beat in beats:
        while next(pattern):
            yield NULL_BEAT
        yield beat
    while next(pattern):
        yield NULL_BEAT


class BeatEncoder:
    """A function from the input beats of a core to the integers with the layout of its input payload.

    Lanes without a symbol have the value `absent`: a core that does not ignore them fails.

    Attributes:
        absent: the last unit that continues a sequence; all bits 1 without a table.
    """

    def __init__(self, core: Core, entry: CoreEntry[Any]) -> None:
        layout = core.input.payload.shape()
        self._lanes, self._width = core.lanes, symbol_width(core)
        self._keep, self._symbols, self._last = (layout[name].offset for name in ("keep", "symbols", "last"))
        self.absent = (1 << self._width) - 1
        if (table := entry.input_table) is not None:
            self.absent = max(table.rows, key=lambda row: len(row.units)).units[-1].last

    def __call__(self, beat: Beat) -> int:
        """The payload of a beat."""
        given, last = beat
        payload: int = last << self._last
        for lane in range(self._lanes):
            symbol = given[lane] if lane < len(given) else None
            value = self.absent if symbol is None else index(symbol)
            if value >> self._width:
                raise InvalidArgumentError(f"code unit {symbol!r} has more than {self._width} bits, or is negative")
            payload |= value << self._symbols + lane * self._width | (symbol is not None) << self._keep + lane
        return payload


def beat_of(core: Core, payload: int) -> Beat:
    """The input beat with a payload; the inverse of `BeatEncoder`."""
    layout, width = core.input.payload.shape(), symbol_width(core)
    symbols, keep, last = (payload >> layout[name].offset for name in ("symbols", "keep", "last"))
    mask = (1 << width) - 1
    slots = (symbols >> width * lane & mask if keep >> lane & 1 else None for lane in range(core.lanes))
    return tuple(slots), bool(last & 1)


def output_fields(core: Core) -> dict[str, tuple[int, int]]:
    """The position and the width of each field of an output symbol, in bits; `value` if it is not a structure."""
    shape = symbol_shape(core.output)
    if isinstance(shape, data.StructLayout):
        return {str(name): (field.offset, field.width) for name, field in shape}
    return {"value": (0, Shape.cast(shape).width)}


class SymbolReader:
    """Takes the output beats of a core apart into symbols."""

    def __init__(self, core: Core, entry: CoreEntry[Any]) -> None:
        self._entry, self._packed = entry, core.packed
        layout = core.output.payload.shape()
        self._keep, self._symbols, self._last = (layout[name].offset for name in ("keep", "symbols", "last"))
        self._lanes, self._width = lanes_of(core.output), Shape.cast(symbol_shape(core.output)).width
        self._fields = output_fields(core)
        self._error, _ = self._fields.get("error", (self._width, 1))
        # Most texts repeat their symbols.
        self._symbol = lru_cache(1 << 16)(self.symbol)

    def __call__(self, payload: int) -> list[Any]:
        """The symbols of an output beat, see `CoreEntry.observed`.

        Raises:
            ContractError: packed symbols have a gap, there is neither a symbol nor `last`, or the flags of a lane
                contradict each other.
        """
        keep, symbols, mask = payload >> self._keep, payload >> self._symbols, (1 << self._width) - 1
        found: list[Any] = []
        for lane in range(self._lanes):
            value = symbols >> lane * self._width & mask
            if keep >> lane & 1:
                if self._packed and len(found) != lane:
                    raise ContractError(f"a gap before word {lane} of packed words")
                found.append(self._symbol(value))
            elif value >> self._error & 1:
                raise ContractError(f"the error flag of word {lane} is set, but there is no word")
        if not found and not self.ends(payload):
            raise ContractError("a beat with neither a word nor last")
        return found

    def ends(self, payload: int) -> bool:
        """Whether a text ends with an output beat."""
        return bool(payload >> self._last & 1)

    def symbol(self, value: int) -> Any:
        """The symbol of which the bits are `value`."""
        values = {name: value >> place & (1 << width) - 1 for name, (place, width) in self._fields.items()}
        try:
            return self._entry.observed(values)
        except InvalidArgumentError as error:
            raise ContractError(str(error)) from None
