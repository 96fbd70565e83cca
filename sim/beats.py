# SPDX-License-Identifier: BSD-2-Clause
"""Beats of symbols at the input and the output of a core, as integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import cycle
from operator import index
from typing import Any

from amaranth.hdl import Shape, Value
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


def beats_of(texts: Iterable[Iterable[int]], lanes: int, options: StreamOptions = PLAIN) -> Iterator[Beat]:
    """The input beats of texts, in order, all full except the last one of each text, or with gaps.

    Args:
        lanes: the number of symbols in a full beat.
        options: the null beats, separate ends and gaps.
    """
    patterns = options.null_beats, options.separate_ends, options.gaps
    null_beats, separate_ends, gaps = (cycle(pattern) for pattern in patterns)
    for text in texts:
        slots: list[int | None] = []
        for symbol in text:
            while next(gaps):
                slots.append(None)
            slots.append(symbol)
        is_separate = next(separate_ends) and len(slots) % lanes == 0
        end = max(1, len(slots) + is_separate)
        for start in range(0, end, lanes):
            while next(null_beats):
                yield NULL_BEAT
            yield tuple(slots[start : start + lanes]), start + lanes >= end


def stream_ports(core: Core) -> dict[str, Value]:
    """The signals of the streams of a core, by the names of their ports."""
    return {
        "in_valid": core.input.valid,
        "in_ready": core.input.ready,
        "in_payload": Value.cast(core.input.payload),
        "out_valid": core.output.valid,
        "out_ready": core.output.ready,
        "out_payload": Value.cast(core.output.payload),
    }


class Fields:
    """The places of the fields of the payload of a stream of beats, in bits.

    Attributes:
        lanes: the number of lanes.
        width: the bits of a symbol.
        keep, symbols, last: the first bit of each field.
    """

    def __init__(self, stream: Any) -> None:
        layout = stream.payload.shape()
        self.lanes, self.width = lanes_of(stream), int(Shape.cast(symbol_shape(stream)).width)
        self.keep, self.symbols, self.last = (layout[name].offset for name in ("keep", "symbols", "last"))

    def has(self, payload: int, lane: int) -> bool:
        """Whether there is a symbol in a lane."""
        return bool(payload >> self.keep + lane & 1)

    def symbol(self, payload: int, lane: int) -> int:
        """The bits of a lane."""
        value: int = payload >> self.symbols + lane * self.width & (1 << self.width) - 1
        return value

    def ends(self, payload: int) -> bool:
        """Whether a text ends with a beat."""
        return bool(payload >> self.last & 1)


class BeatEncoder:
    """A function from the input beats of a core to the integers with the layout of its input payload.

    Lanes without a symbol have the value `absent`: a core that does not ignore them fails.

    Attributes:
        absent: the last unit that continues a sequence; all bits 1 without a table.
    """

    def __init__(self, core: Core, entry: CoreEntry[Any]) -> None:
        self._fields = Fields(core.input)
        self.absent = (1 << self._fields.width) - 1
        if (table := entry.input_table) is not None:
            self.absent = max(table.rows, key=lambda row: len(row.units)).units[-1].last

    def __call__(self, beat: Beat) -> int:
        """The payload of a beat."""
        given, last = beat
        fields = self._fields
        payload: int = last << fields.last
        for lane in range(fields.lanes):
            symbol = given[lane] if lane < len(given) else None
            value = self.absent if symbol is None else index(symbol)
            if value >> fields.width:
                raise InvalidArgumentError(f"code unit {symbol!r} has more than {fields.width} bits, or is negative")
            payload |= value << fields.symbols + lane * fields.width | (symbol is not None) << fields.keep + lane
        return payload


def beat_of(core: Core, payload: int) -> Beat:
    """The input beat with a payload; the inverse of `BeatEncoder`."""
    fields = Fields(core.input)
    slots = (fields.symbol(payload, lane) if fields.has(payload, lane) else None for lane in range(fields.lanes))
    return tuple(slots), fields.ends(payload)


class SymbolReader:
    """Takes the output beats of a core apart into symbols.

    Attributes:
        ends: whether a text ends with the output beat of a payload.
    """

    def __init__(self, core: Core, entry: CoreEntry[Any]) -> None:
        self._entry, self._packed, self._fields = entry, core.packed, Fields(core.output)
        self.ends = self._fields.ends
        shape, width = symbol_shape(core.output), self._fields.width
        self._parts = {"value": (0, width)}
        if isinstance(shape, data.StructLayout):
            self._parts = {str(name): (field.offset, field.width) for name, field in shape}
        self._error, _ = self._parts.get("error", (width, 1))
        # Most texts repeat their symbols.
        self._symbol = lru_cache(1 << 16)(self.symbol)

    def __call__(self, payload: int) -> list[Any]:
        """The symbols of an output beat, see `CoreEntry.observed`.

        Raises:
            ContractError: packed symbols have a gap, there is neither a symbol nor `last`, or the flags of a lane
                contradict each other.
        """
        found: list[Any] = []
        for lane in range(self._fields.lanes):
            value = self._fields.symbol(payload, lane)
            if self._fields.has(payload, lane):
                if self._packed and len(found) != lane:
                    raise ContractError(f"a gap before word {lane} of packed words")
                found.append(self._symbol(value))
            elif value >> self._error & 1:
                raise ContractError(f"the error flag of word {lane} is set, but there is no word")
        if not found and not self.ends(payload):
            raise ContractError("a beat with neither a word nor last")
        return found

    def symbol(self, value: int) -> Any:
        """The symbol of which the bits are `value`."""
        values = {name: value >> place & (1 << width) - 1 for name, (place, width) in self._parts.items()}
        try:
            return self._entry.observed(values)
        except InvalidArgumentError as error:
            raise ContractError(str(error)) from None
