# SPDX-License-Identifier: BSD-2-Clause
"""The output of the command `decode` from NumPy arrays, for large inputs. Requires the extra ``arrays``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utf8fpga.cli.show import Tally
from utf8fpga.model import REPLACEMENT_CHARACTER, ErrorKind, Practice, encode
from utf8fpga.model.arrays import ArrayDecoder, IncrementalArrayDecoder, ItemArrays

LINES = 1 << 14
"""Lines formatted at once, so that they fit in the processor's cache."""


class ArrayOutput:
    """A faster `PlainOutput` with the same output.

    Args:
        decoder: the decoder of the chunks; where this class merges marks it must give one mark for each
            maximal subpart. Default: a new decoder.
    """

    def __init__(
        self, form: str, practice: Practice, decoder: ArrayDecoder | IncrementalArrayDecoder | None = None
    ) -> None:
        self.tally = Tally()
        # A merged mark may be as long as the text, so in text and summary it is written in parts.
        self._joins = practice is Practice.WHOLE_SUBSEQUENCE and form != "json"
        self._decoder = decoder or IncrementalArrayDecoder(Practice.MAXIMAL_SUBPARTS if self._joins else practice)
        self._units = b""
        """The units after the last item."""
        self._open = 0
        """The cause of the merged mark that the next items may extend; 0 where there is none."""
        self._form: Callable[[_Part], Iterator[bytes]] = {"text": _text, "json": _json, "summary": _spans}[form]

    def pieces(self, chunk: bytes, final: bool = False) -> Iterator[bytes]:
        """The output for the next bytes of the text; `final` at its end."""
        units = self._units + chunk
        items = self._decoder.decode(chunk, final)
        part = _Part(np.frombuffer(units, np.uint8), items, self._open, joins=self._joins, final=final)
        end = int(part.starts[-1] + items.lengths[-1]) if len(items) else 0
        self._units = units[end:]
        self._open = part.open_after
        errors = np.bincount(items.errors[part.begins], minlength=max(ErrorKind) + 1).tolist()
        well_formed = int(np.count_nonzero(~part.is_mark))
        self.tally.count(end, well_formed + sum(errors), {kind: errors[kind] for kind in ErrorKind})
        return self._form(part)


class _Part:
    """The items of a chunk, and flags for those at which a mark begins and ends."""

    def __init__(self, units: NDArray[np.uint8], items: ItemArrays, open_before: int, *, joins: bool, final: bool):
        self.units = units
        self.items = items
        self.open_before = open_before
        self.starts = items.offsets - items.offsets[:1]
        """The indices in `units` at which the items start."""
        self.is_mark = items.errors != 0
        self.begins = self.ends = self.is_mark
        self.causes = items.errors
        """For each item the cause of its mark."""
        self.open_after = 0
        if joins and len(items):
            follows_mark = np.append(open_before != 0, self.is_mark[:-1])
            precedes_mark = np.append(self.is_mark[1:], not final)
            self.begins = self.is_mark & ~follows_mark
            self.ends = self.is_mark & ~precedes_mark
            first = np.maximum.accumulate(np.where(self.begins, np.arange(len(items)), -1))
            self.causes = np.where(first < 0, open_before, items.errors[first]).astype(np.uint8)
            self.open_after = int(self.causes[-1]) if self.is_mark[-1] and not final else 0
        elif joins and not final:
            self.open_after = open_before
        self.closes = open_before != 0 and (self.is_mark[:1].tolist() == [False] if len(items) else final)
        """Whether the mark that was open before this chunk ends at its start."""


_MARK = np.frombuffer(encode([REPLACEMENT_CHARACTER]), np.uint8)


def _text(part: _Part) -> Iterator[bytes]:
    """The well-formed bytes unchanged, and U+FFFD for each mark."""
    items = part.items
    size = int(part.starts[-1] + items.lengths[-1]) if len(items) else 0
    units = part.units[:size]
    if not part.is_mark.any():
        yield units.tobytes()
        return
    counts = np.ones(size, np.uint8)
    starts, lengths = part.starts[part.is_mark], items.lengths[part.is_mark]
    for place in range(int(lengths.max())):
        counts[starts[lengths > place] + place] = 0
    begins = part.starts[part.begins]
    counts[begins] = len(_MARK)
    text = np.repeat(units, counts)
    after = np.cumsum(counts, dtype=np.int64)[begins]
    for place, unit in enumerate(_MARK, -len(_MARK)):
        text[after + place] = unit
    yield text.tobytes()


def _spans(part: _Part) -> Iterator[bytes]:
    """A line for each mark with its offset, its bytes and its cause."""
    if part.closes:
        yield _lines(_CAUSE_AT_THE_END[[part.open_before]])
    marks = np.flatnonzero(part.is_mark)
    for first in range(0, len(marks), LINES):
        at = marks[first : first + LINES]
        starts, lengths = part.starts[at], part.items.lengths[at]
        begins, ends = part.begins[at], part.ends[at]
        places = np.arange(int(lengths.max()))
        inside = np.minimum(starts[:, None] + places, len(part.units) - 1)
        digits = np.where(places < lengths[:, None], part.units[inside].astype(np.int16), _NO_UNIT)
        yield _lines(
            _only(begins, _constant("offset ", at)),
            _only(begins, _decimal(part.items.offsets[at])),
            _only(begins, _constant(":", at)),
            _HEXADECIMAL.take(digits, axis=0).reshape(len(at), -1),
            _only(ends, _CAUSE_AT_THE_END.take(part.causes[at], axis=0)),
        )


def _json(part: _Part) -> Iterator[bytes]:
    for first in range(0, len(part.items), LINES):
        items = part.items[first : first + LINES]
        yield _lines(
            _constant('{"offset": ', items),
            _decimal(items.offsets),
            _constant(', "length": ', items),
            _decimal(items.lengths),
            _constant(', "code_point": ', items),
            _decimal(items.code_points),
            _constant(', "error": ', items),
            _CAUSE_IN_JSON.take(items.errors, axis=0),
            _constant("}\n", items),
        )


# Lines are formatted as a matrix of characters with one line per row; 0 is no character.

_Characters = NDArray[np.uint8]


def _lines(*columns: _Characters) -> bytes:
    return np.concatenate(columns, axis=1).tobytes().translate(None, b"\0")


def _only(rows: NDArray[np.bool_], column: _Characters) -> _Characters:
    return column if rows.all() else column * rows[:, None]


def _constant(text: str, rows: Any) -> _Characters:
    return np.broadcast_to(np.frombuffer(text.encode(), np.uint8), (len(rows), len(text)))


def _decimal(numbers: NDArray[Any]) -> _Characters:
    rest = numbers.astype(np.int64)
    width = len(str(rest.max()))
    digits = np.empty((len(rest), width), np.uint8)
    for place in reversed(range(width)):
        tens = rest // 10
        digits[:, place] = rest - 10 * tens + ord("0")
        if place < width - 1:
            digits[:, place] *= rest > 0
        rest = tens
    return digits


def _table(texts: list[str]) -> _Characters:
    return np.array([text.encode() for text in texts]).view(np.uint8).reshape(len(texts), -1)


_NO_UNIT = 256
_HEXADECIMAL = _table([*(f" {unit:02X}" for unit in range(_NO_UNIT)), ""])
_NAMES = [ErrorKind(code).name if code in list(ErrorKind) else "" for code in range(max(ErrorKind) + 1)]
_CAUSE_AT_THE_END = _table([f" {name}\n" for name in _NAMES])
_CAUSE_IN_JSON = _table([f'"{name}"' if name else "null" for name in _NAMES])
