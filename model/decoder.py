# SPDX-License-Identifier: BSD-2-Clause
"""The golden decoder: the reference for the correct behaviour of everything else in the project."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from utf8fpga.model.composition import Composition
from utf8fpga.model.dfa import DFA, REJECT, START, checked_unit
from utf8fpga.model.errors import ErrorKind, cause
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.table import EncodingTable

REPLACEMENT_CHARACTER = 0xFFFD
"""The code point of an ill-formed item."""


class Item(NamedTuple):
    """One scalar value or one maximal subpart of an ill-formed subsequence.

    As text it is ``offset+length``, the code point and, where ill-formed, the cause: ``0+2 U+FFFD TRUNCATED``.

    Attributes:
        offset: its start, in code units from the start of the text.
        length: its number of code units, 1 to the longest sequence of the table.
        code_point: the code point; U+FFFD where ill-formed.
        error: the cause where ill-formed, else None (a well-formed item may also be U+FFFD).
    """

    offset: int
    length: int
    code_point: int
    error: ErrorKind | None

    @property
    def end(self) -> int:
        """The offset after its last code unit."""
        return self.offset + self.length

    @property
    def char(self) -> str:
        """The character of its code point: of an ill-formed item U+FFFD.

        Raises:
            ValueError: the code point is above U+10FFFF, as some are in the table of RFC 2279.
        """
        return chr(self.code_point)

    def __str__(self) -> str:
        named = f" {self.error.name}" if self.error else ""
        return f"{self.offset}+{self.length} U+{self.code_point:04X}{named}"


class Subparts:
    """The items of a text in chunks, where each maximal subpart (D93b) is one ill-formed item.

    Each item is yielded as soon as the units received determine it. A unit that does not continue the open sequence
    ends it: the units consumed so far are one ill-formed item, and the unit is processed again from the start state.
    At the end of the text an open sequence is one ill-formed item.
    """

    def __init__(self, table: EncodingTable) -> None:
        self.table = table
        self.reset()

    def reset(self) -> None:
        """Discard the open sequence and restart offsets at 0."""
        self._open: tuple[int, ...] = ()
        self._state = START
        self._offset = 0

    @property
    def position(self) -> int:
        """The offset of the next unit."""
        return self._offset + len(self._open)

    def getstate(self) -> tuple[object, ...]:
        """The code units of the open sequence, and the offset in the text of the first of them."""
        return self._open, self._offset

    def setstate(self, state: Any) -> None:
        """Continue from a state that `getstate` returned."""
        units, offset = tuple(state[0]), state[1]
        number = DFA.of(self.table).after(units)
        if units and number in (REJECT, START):
            raise InvalidArgumentError(f"state {units} is not an open sequence of {self.table.name}")
        self._open, self._state, self._offset = units, number, offset

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        """The items that valid units complete; the state changes only after the last unit."""
        dfa, result, causes = DFA.of(self.table), results_of(self.table), causes_of(self.table)
        classify, transitions = dfa.classify, [state.transitions for state in dfa.states]
        sequence, state, offset = self._open, self._state, self._offset
        for unit in units:
            if sequence:
                state = transitions[state][classify(unit)]
                if state == REJECT:
                    yield new_item((offset, len(sequence), REPLACEMENT_CHARACTER, causes(sequence, unit)))
                    offset += len(sequence)
                else:
                    sequence += (unit,)
                    if state == START and (item := result(sequence)):
                        yield new_item((offset, len(sequence), *item))
                        offset += len(sequence)
                        sequence = ()
                    continue
            # No sequence is open, or this unit has ended the open sequence.
            if item := result((unit,)):
                yield new_item((offset, 1, *item))
                offset += 1
                sequence, state = (), START
            else:
                sequence, state = (unit,), transitions[START][classify(unit)]
        if final:
            if sequence:
                yield Item(offset, len(sequence), REPLACEMENT_CHARACTER, causes(sequence, None))
            self.reset()
        else:
            self._open, self._state, self._offset = sequence, state, offset


class ComposedSubparts:
    """`Subparts` of a composition; `utf8fpga.model.decode` states how."""

    def __init__(self, composition: Composition) -> None:
        self.table = composition.unit_table
        self._pieces, self._form = Subparts(composition.unit_table), Subparts(composition.form)
        self._open: deque[Item] = deque()
        """The items of the unit table that are the open sequence of the form."""

    @property
    def position(self) -> int:
        """The offset of the next unit."""
        return self._pieces.position

    def getstate(self) -> tuple[object, ...]:
        """The states of both tables, and the items of the unit table that are the open sequence of the form."""
        return self._pieces.getstate(), self._form.getstate(), tuple(self._open)

    def setstate(self, state: Any) -> None:
        """Continue from a state that `getstate` returned."""
        pieces, form, opened = state
        self._pieces.setstate(pieces)
        self._form.setstate(form)
        self._open = deque(opened)

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        """The items that valid units complete."""
        yield from self.composed(self._pieces.items(units, final), final)

    def composed(self, pieces: Iterable[Item], final: bool) -> Iterator[Item]:
        """The items of the form, each as soon as the items of the unit table determine it."""
        for is_well_formed, run in groupby(pieces, key=lambda piece: piece.error is None):
            if is_well_formed:
                yield from self._placed(self._form.items(self._code_units(run), final=False))
            else:
                # The ill-formed item, not the end of the text, breaks an open sequence.
                broken = self._placed(self._form.items((), final=True))
                yield from (item._replace(error=ErrorKind.TRUNCATED) for item in broken)
                yield from run
        if final:
            yield from self._placed(self._form.items((), final=True))

    def _code_units(self, run: Iterable[Item]) -> Iterator[int]:
        for piece in run:
            self._open.append(piece)
            yield piece.code_point

    def _placed(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items with offsets and lengths in units of the unit table."""
        for item in items:
            parts = [self._open.popleft() for _ in range(item.length)]
            yield item._replace(offset=parts[0].offset, length=sum(part.length for part in parts))


new_item: Callable[[tuple[int, int, int, ErrorKind | None]], Item] = partial(tuple.__new__, Item)
"""Makes an `Item` from a tuple in half the time of the constructor."""


@lru_cache(maxsize=32)
def causes_of(table: EncodingTable) -> Callable[[Sequence[int], int | None], ErrorKind]:
    """`cause` of a table with a cache, which holds every combination of UTF-8 with at most one unit open."""
    return lru_cache(maxsize=1 << 14)(partial(cause, table))


Result: TypeAlias = tuple[int, ErrorKind | None] | None


@lru_cache(maxsize=32)
def results_of(table: EncodingTable) -> Callable[[Sequence[int]], Result]:
    """A function from a sequence to its code point and cause; None where a unit after it decides.

    The sequence is a minimal well-formed subsequence or a maximal subpart.
    """

    @lru_cache(maxsize=1 << 16)
    def result(units: Sequence[int]) -> Result:
        row = next((row for row in table.rows if row.matches(units)), None)
        if row is not None:
            return row.code_point(units), None
        opens = any(units[0] in row.units[0] for row in table.rows)
        return None if opens else (REPLACEMENT_CHARACTER, cause(table, units, None))

    return result


def code_units(data: Iterable[int], table: EncodingTable, offset: int) -> Iterable[int]:
    """`data` with each unit checked when it is read; `offset` is the offset of the first unit.

    Bytes-like objects are returned as such, as a memoryview unless they are bytes.
    """
    content = _bytes_of(data)
    if content is not None and table.unit_width > 8:
        code = "H" if table.unit_width == 16 else "I"
        raise TypeError(
            f"{table.name} has code units of {table.unit_width} bits, not bytes: pass array({code!r}, data)"
        )
    if content is not None and table.unit_width == 8:
        return content
    if hasattr(data, "read"):
        raise TypeError("code units must be bytes, not an open file: pass what its read() returns")
    if isinstance(data, str) or not isinstance(data, Iterable):
        kind = type(data).__name__
        advice = ": use text.encode(), or open the file with 'rb'" if isinstance(data, str) else ""
        raise TypeError(f"code units must be an iterable of integers such as bytes, not {kind}{advice}")
    return (checked_unit(table, unit, position) for position, unit in enumerate(content or data, offset))


def _bytes_of(data: object) -> bytes | bytearray | memoryview | None:
    """The contents of a bytes-like object; None of any other one."""
    if isinstance(data, bytes | bytearray):
        return data
    try:
        view = memoryview(data)  # type: ignore[arg-type]  # the exception says whether it has a buffer
    except TypeError:
        return None
    if view.ndim != 1 or view.format.lstrip("@=<>!") != "B":
        return None  # Such as an array of another type, which is iterated over by its own methods.
    return view if view.format == "B" and view.c_contiguous else view.tobytes()


def whole(data: Iterable[int], table: EncodingTable) -> Sequence[int]:
    """All of `code_units`, as a sequence that can be sliced by an item's offset and length.

    >>> from utf8fpga.model.forms import TABLE_3_7
    >>> whole(iter([0x41, 0x42]), TABLE_3_7)
    (65, 66)
    """
    units = code_units(data, table, 0)
    return units if isinstance(units, bytes | bytearray | memoryview) else tuple(units)
