# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of a compiled core with its fast golden function, for input of any size. Requires the extra ``arrays``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from utf8fpga.model import InvalidArgumentError
from utf8fpga.model.golden import BulkGolden, BulkSymbols
from utf8fpga.sim import check
from utf8fpga.sim.beats import PLAIN, ContractError, StreamOptions, StreamWords, output_fields, symbol_width
from utf8fpga.sim.check import Mismatch
from utf8fpga.sim.simulation import Simulation

_SAME_PART = 4
"""Parts of the input that are kept, and further ones of which the core has not output all symbols."""

_LATE = 1 << 20
"""Upper bound on the symbols that a correct core has not output."""


def bulk_golden(simulation: Simulation) -> BulkGolden | None:
    """The fast golden function of a core that `BulkComparison` can use; None: there is none."""
    golden = simulation.entry.bulk_golden()
    if golden is None or symbol_width(simulation.core) != 8 or not simulation.model.can_gather:
        return None
    return golden


_Words = NDArray[np.uint64]
"""Output symbols as integers."""


@dataclass(frozen=True)
class _Place:
    """A place in a packet at which there may be a difference.

    Attributes:
        text: the input symbols of the packet, from the boundary of an output symbol.
        offset: the offset of the differing output symbol, in `text`.
        expected: the golden function's symbol; None where it has no further one.
    """

    text: bytes
    offset: int
    expected: Any


class BulkDifferenceError(Exception):
    """The core and its golden function differ.

    Attributes:
        places: the places of which the difference is at one. Between two packets there is more than one.
        simulated: the core's symbol; None where it gave none, or its fields contradict each other.
        reason: the violation of the stream contract; empty where there is none.
    """

    def __init__(self, places: Sequence[_Place], simulated: Any, reason: str) -> None:
        super().__init__()
        self.places, self.simulated, self.reason = places, simulated, reason


@dataclass(frozen=True)
class _Part:
    """A part of the input, from the boundary of an output symbol, and the number of output symbols before it."""

    symbols: bytes
    ends: NDArray[np.int64]
    first_output: int


class BulkComparison:
    """A run of a core that is compared with its fast golden function.

    Args:
        simulation: the core, whose `bulk_golden` is not None.
    """

    def __init__(self, simulation: Simulation, options: StreamOptions = PLAIN) -> None:
        golden = bulk_golden(simulation)
        assert golden is not None
        self._golden, self._entry = golden, simulation.entry
        self._session = simulation.model.session(gathers=True, **vars(options))
        self._fields = output_fields(simulation.core)
        self._parts: deque[_Part] = deque()
        self._pending = b""
        self._expected = _Queue()
        self._found = _Queue()
        self._simulation, self._options = simulation, options

    @property
    def cycles(self) -> int:
        """The cycles simulated so far."""
        return self._session.cycle

    def send(self, symbols: bytes, ends: Sequence[int], *, more: bool) -> BulkSymbols:
        """Send input symbols and compare the output so far.

        Args:
            ends: for each packet that ends here, the number of these symbols before its end, ascending.
            more: whether other symbols or ends will follow.

        Returns:
            The symbols of the golden function for this part.

        Raises:
            BulkDifferenceError: the core and the golden function differ.
        """
        wanted = self._golden.process(symbols, ends)
        places = np.asarray(ends, np.int64)
        part = _Part(self._pending + symbols, places + len(self._pending), self._expected.total)
        self._parts.append(part)
        while len(self._parts) > _SAME_PART and self._parts[1].first_output < self._expected.first:
            self._parts.popleft()
        self._pending = part.symbols[len(part.symbols) - wanted.pending :]
        self._expected.append(self._words(wanted), wanted.ends)
        try:
            for each in self._session.send_symbols(symbols, ends, more=more):
                ends_here = np.frombuffer(each.ends, np.uint64).astype(np.int64)
                self._found.append(np.frombuffer(each.symbols, np.uint64), ends_here)
        except ContractError as error:
            self._compare()
            raise self._difference(self._found.first, str(error)) from None
        self._compare()
        if len(self._expected.words) > _LATE:
            raise self._difference(self._found.first)
        return wanted

    def mismatch(self, difference: BulkDifferenceError) -> Mismatch:
        """A difference with the shortest input and the simplest stream options found that reproduce it."""
        deadline, reason = check.search_deadline(), check.DEPENDS_ON_EARLIER
        for part, options in self._attempts(difference.places):
            if monotonic() > deadline:
                reason = check.NOT_REPRODUCED
                break
            found = check.first_difference(self._simulation, part, options)
            # It has the most recent units only.
            if found and (again := check.first_difference(self._simulation, found.units, options)):
                return check.shortest(self._simulation, again, options)
        place = difference.places[0]
        first = max(0, place.offset - _WINDOWS[0])
        units = tuple(place.text[first : place.offset + 2 * _WINDOWS[0]])
        offset = place.offset - first
        expected, simulated = place.expected, difference.simulated
        lost = check.described(self._simulation, units, self._options, offset, expected, simulated, difference.reason)
        return replace(lost, replay=(), no_replay=reason)

    def _attempts(self, places: Sequence[_Place]) -> Iterator[tuple[bytes, StreamOptions]]:
        """Units and options that may reproduce a difference."""
        lanes = self._simulation.core.lanes
        for window in _WINDOWS:
            for place in places:
                text = place.text[: place.offset + _WINDOWS[0] + 2 * lanes]
                for options in _phases(self._options):
                    yield text[-window - lanes :], options

    def _words(self, symbols: BulkSymbols) -> _Words:
        """The output symbols as integers."""
        words = np.zeros(len(next(iter(symbols.columns.values()))), np.uint64)
        for name, (offset, _) in self._fields.items():
            words |= symbols.columns[name].astype(np.uint64) << np.uint64(offset)
        return words

    def _compare(self) -> None:
        """Compare what both have returned, and forget it."""
        count = min(len(self._expected.words), len(self._found.words))
        wanted, found = self._expected.take(count), self._found.take(count)
        if not np.array_equal(wanted, found):
            at = int(np.argmax(wanted != found))
            raise self._difference(self._found.first - count + at, word=int(found[at]))
        packets = min(len(self._expected.ends), len(self._found.ends))
        wanted_ends, found_ends = self._expected.take_ends(packets), self._found.take_ends(packets)
        if not np.array_equal(wanted_ends, found_ends):
            at = int(np.argmax(wanted_ends != found_ends))
            raise self._difference(int(min(wanted_ends[at], found_ends[at])))
        # An end that the other lacks, but has symbols after it, is found now, while its packet is kept.
        for one, other in ((self._expected, self._found), (self._found, self._expected)):
            if len(one.ends) and other.total > one.ends[0]:
                raise self._difference(int(one.ends[0]))

    def _difference(self, output: int, reason: str = "", word: int | None = None) -> BulkDifferenceError:
        """The error for the output symbol of a number; `word` is the core's."""
        simulated = None
        if word is not None:
            values = {name: word >> at & (1 << width) - 1 for name, (at, width) in self._fields.items()}
            try:
                simulated = self._entry.observed(values)
            except InvalidArgumentError as error:
                reason = str(error)
        return BulkDifferenceError(list(self._places(output)), simulated, reason)

    def _places(self, output: int) -> Iterator[_Place]:
        """The places of the output symbol of a number, the later ones first."""
        for part in reversed(self._parts):
            if part.first_output <= output:
                yield from self._places_in(part, output)
            if part.first_output < output:
                return

    def _places_in(self, part: _Part, output: int) -> Iterator[_Place]:
        golden = self._entry.golden()
        found: list[_Place] = []
        first, count = 0, part.first_output
        for end in [*part.ends.tolist(), len(part.symbols)]:
            symbols = list(golden.process(part.symbols[first:end], final=True))
            number = output - count
            if 0 <= number <= len(symbols):
                offset = sum(symbol.length for symbol in symbols[:number])
                expected = self._entry.comparable(symbols[number]) if symbols[number:] else None
                found.append(_Place(part.symbols[first:end], offset, expected))
            elif number < 0:
                break
            first, count = end, count + len(symbols)
        yield from reversed(found)


_WINDOWS = (16, 128, 1024, 8192)
"""Numbers of units before a difference that are tried as shorter inputs, in addition to one beat."""

_PHASES = 48
"""Upper bound on the cycles by which the patterns of pauses are shifted to reproduce a difference."""


def _phases(options: StreamOptions) -> Iterator[StreamOptions]:
    """The options with other phases of their patterns, since a difference is far from the start of its run."""
    patterns = ("input_pauses", "output_pauses", "null_beats")
    longest = max(len(getattr(options, name)) for name in patterns)
    for phase in range(min(_PHASES, longest)):
        for separate_end in sorted({any(options.separate_ends), False}):
            shifted = {name: _shifted(getattr(options, name), phase) for name in patterns}
            yield StreamOptions(**shifted, separate_ends=(separate_end,))


def _shifted(pattern: Sequence[bool], phase: int) -> Sequence[bool]:
    start = phase % len(pattern)
    return [*pattern[start:], *pattern[:start]]


def compare_bulk(
    simulation: Simulation,
    parts: Iterable[bytes],
    *,
    on_part: Callable[[int, int, BulkSymbols], None] | None = None,
    **streams: Unpack[StreamWords],
) -> Mismatch | None:
    """Like `compare`, for a core whose `bulk_golden` is not None, and much faster.

    Args:
        parts: the bytes of the text, in parts.
        on_part: called with the number of bytes sent so far, those in this part, and the next symbols of the golden
            function.
        streams: the attributes of `StreamOptions`, without gaps.

    Returns:
        See `compare`.
    """
    run = BulkComparison(simulation, StreamOptions(**streams))
    sent = 0

    def send(part: bytes, *, final: bool) -> None:
        nonlocal sent
        found = run.send(part, [len(part)] if final else [], more=not final)
        sent += len(part)
        if on_part:
            on_part(sent, len(part), found)

    try:
        for part in parts:
            for first in range(0, len(part), _PART):
                send(part[first : first + _PART], final=False)
        send(b"", final=True)
    except BulkDifferenceError as difference:
        return run.mismatch(difference)
    return None


_PART = 1 << 18
"""Upper bound on the bytes that are compared at once, whose arrays need some megabytes."""


class _Queue:
    """Output symbols and ends of packets that have not been compared.

    Attributes:
        first: the number of symbols before these.
        words: the symbols as integers.
        ends: for each packet, the number of symbols of the run before its end.
    """

    def __init__(self) -> None:
        self.first = 0
        self.words: _Words = np.empty(0, np.uint64)
        self.ends: NDArray[np.int64] = np.empty(0, np.int64)

    @property
    def total(self) -> int:
        """The number of symbols that were ever appended."""
        return self.first + len(self.words)

    def append(self, words: _Words, ends: NDArray[np.int64]) -> None:
        """Add symbols; `ends` are counted in them."""
        self.ends = np.concatenate([self.ends, ends + self.total])
        self.words = np.concatenate([self.words, words])

    def take(self, count: int) -> _Words:
        """Remove the first symbols."""
        taken, self.words = self.words[:count], self.words[count:]
        self.first += len(taken)
        return taken

    def take_ends(self, count: int) -> NDArray[np.int64]:
        """Remove the first ends."""
        taken, self.ends = self.ends[:count], self.ends[count:]
        return taken
