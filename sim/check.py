# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of the simulated decoder with the golden model, and a report of the first difference."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from utf8fpga.hdl import decoder_parameters
from utf8fpga.model import CATALOGUE, Item
from utf8fpga.model.practices import IncrementalDecoder
from utf8fpga.model.table import spell
from utf8fpga.sim.simulation import Beat, ContractError, Simulation, Word, text_beats, with_null_beats

__all__ = ["Mismatch", "compare"]

_REPLAY_UNITS = 16
"""Number of units before a difference that are tried as a shorter input, in addition to one beat."""

_EARLY = 1
"""Items that a decoder may output before the model returns them: a mark whose length is not yet determined."""

_NO_PAUSES = (False,)


@dataclass(frozen=True)
class _StreamOptions:
    """The stream options of one text: see `compare`."""

    input_pauses: Sequence[bool] = _NO_PAUSES
    output_pauses: Sequence[bool] = _NO_PAUSES
    separate_end: bool = False
    null_beats: Sequence[bool] = _NO_PAUSES

    @property
    def arguments(self) -> list[str]:
        """The words of the command `simulate` for these options."""
        words = []
        for name in ("input_pauses", "output_pauses", "null_beats"):
            if any(pattern := getattr(self, name)):
                words += [f"--{name.replace('_', '-')}", "".join(str(int(is_set)) for is_set in pattern)]
        if self.separate_end:
            words.append("--separate-end")
        return words

    @property
    def simpler(self) -> Iterator[_StreamOptions]:
        """For each option, these options with that one at its default."""
        plain = _StreamOptions()
        for name in ("input_pauses", "output_pauses", "separate_end", "null_beats"):
            yield replace(self, **{name: getattr(plain, name)})


@dataclass(frozen=True)
class Mismatch:
    """Where the simulated decoder first differs from the golden model.

    Attributes:
        units: the shortest input found that reproduces a difference.
        offset: the offset of the differing item, in code units from the start of `units`.
        expected: the model's item; None where it has no further item.
        simulated: the decoder's item; None where it gave no further item.
        reason: the violation of the stream contract; empty where there is none.
        unit_width: bits in a code unit.
        replay: the words of a command that reproduces the difference; empty where there is no such command.
        no_replay: the reason why there is no such command.
    """

    units: tuple[int, ...]
    offset: int
    expected: Item | Word | None
    simulated: Item | Word | None
    reason: str = ""
    unit_width: int = 8
    replay: tuple[str, ...] = ()
    no_replay: str = ""

    def __str__(self) -> str:
        shown = spell(self.units, self.unit_width)
        lines = [f"the decoder differs from the model at offset {self.offset} of {shown or 'an empty text'}"]
        lines += [f"  model:     {self.expected or 'no item'}", f"  simulated: {self.simulated or 'no item'}"]
        if self.reason:
            lines.append(f"  contract:  {self.reason}")
        command = shlex.join([*self.replay, "--vcd", "mismatch.vcd"]) if self.replay else f"none, {self.no_replay}"
        lines.append(f"  replay:    {command}")
        return "\n".join(lines)


def compare(
    simulation: Simulation,
    units: Iterable[int],
    *,
    input_pauses: Sequence[bool] = _NO_PAUSES,
    output_pauses: Sequence[bool] = _NO_PAUSES,
    separate_end: bool = False,
    null_beats: Sequence[bool] = _NO_PAUSES,
    vcd: Path | None = None,
    on_item: Callable[[Item], None] | None = None,
    on_unit: Callable[[int], None] | None = None,
) -> Mismatch | None:
    """Simulate the decoder on one text of any length and compare each item with the golden model.

    The model uses the replacement practice and the table of the decoder.

    Args:
        simulation: the decoder.
        units: the code units of the text; read on demand, so memory is bounded.
        input_pauses: see `Simulation.run`.
        output_pauses: see `Simulation.run`.
        separate_end: `last` is in a beat without units, as it always is where the text is empty.
        null_beats: see `Simulation.run`.
        vcd: a file for the waveform.
        on_item: called with each item on which model and decoder agree, until the first difference.
        on_unit: called with the number of units sent so far.

    Returns:
        The first difference, reduced to the shortest input and the simplest stream options found that reproduce
        it; None where all items are equal.

    Raises:
        InvalidArgumentError: see `Simulation.run`.
    """
    options = _StreamOptions(input_pauses, output_pauses, separate_end, null_beats)
    mismatch = _Comparison(simulation, units, options, on_item, on_unit).first_difference(vcd)
    if mismatch is None:
        return None

    def tried(options: _StreamOptions, shorter: Sequence[int]) -> Mismatch | None:
        return _Comparison(simulation, shorter, options).first_difference()

    for kept in (_REPLAY_UNITS + simulation.decoder.lanes, len(mismatch.units)):
        if found := tried(options, mismatch.units[-kept:]):
            break
    else:
        reason = "since these units alone are decoded correctly: the difference depends on earlier units"
        return replace(mismatch, replay=(), no_replay=reason)
    while True:
        plainer = ((each, tried(each, found.units)) for each in options.simpler if each != options)
        changed, less = next(((each, less) for each, less in plainer if less), (options, None))
        less = less or _shorter(found, partial(tried, options))
        if less is None:
            return found
        options, found = changed, less


def _shorter(found: Mismatch, tried: Callable[[Sequence[int]], Mismatch | None]) -> Mismatch | None:
    """A difference with a part of the units removed, as large as possible; None if all are needed."""
    size = len(found.units)
    while size := size // 2:
        pieces = (found.units[:at] + found.units[at + size :] for at in range(len(found.units) - size, -1, -size))
        if less := next(filter(None, map(tried, pieces)), None):
            return less
    return None


class _DifferenceError(Exception):
    def __init__(self, expected: Item | None, simulated: Item | Word | None) -> None:
        super().__init__()
        self.expected = expected
        self.simulated = simulated


@dataclass
class _Comparison:
    """One text that the decoder and the model decode concurrently."""

    simulation: Simulation
    units: Iterable[int]
    options: _StreamOptions
    on_item: Callable[[Item], None] | None = None
    on_unit: Callable[[int], None] | None = None

    recent: deque[int] = field(init=False)
    """The most recent units sent."""
    sent: int = 0
    offset: int = 0
    """The offset of the next item in the text."""

    def __post_init__(self) -> None:
        decoder = self.simulation.decoder
        self.model = IncrementalDecoder(decoder.practice, decoder.table)
        self.expected: deque[Item] = deque()
        self.early: deque[Item | Word] = deque()
        self.recent = deque(maxlen=4 * (_REPLAY_UNITS + decoder.lanes))

    def first_difference(self, vcd: Path | None = None) -> Mismatch | None:
        reason = ""
        try:
            self.simulation.stream(
                with_null_beats(self.beats(), self.options.null_beats),
                self.take,
                input_pauses=self.options.input_pauses,
                output_pauses=self.options.output_pauses,
                vcd=vcd,
            )
            return None
        except _DifferenceError as difference:
            expected, simulated = difference.expected, difference.simulated
        except ContractError as error:
            expected, simulated, reason = (self.expected[0] if self.expected else None), None, str(error)
        offset = len(self.recent) - (self.sent - self.offset)
        wanted = None if expected is None else self.simulation.like(expected._replace(offset=offset))
        if isinstance(simulated, Item):
            simulated = simulated._replace(offset=simulated.offset - self.offset + offset)
        decoder = self.simulation.decoder
        units = tuple(self.recent)
        shown = spell(units, decoder.table.unit_width)
        words = [*decoder_parameters(decoder).arguments(), *self.options.arguments]
        replay = ["utf8fpga", "simulate", "--hex", shown, *words]
        known = CATALOGUE.get(decoder.table.name) == decoder.table
        return Mismatch(
            units,
            offset,
            wanted,
            simulated,
            reason,
            decoder.table.unit_width,
            replay=tuple(replay) if known else (),
            no_replay="" if known else f"since no option chooses the table {decoder.table.name}",
        )

    def beats(self) -> Iterator[Beat]:
        for units, last in text_beats(
            self.units, self.simulation.decoder.lanes, separate_end=self.options.separate_end
        ):
            self.sent += len(units)
            self.recent.extend(units)
            if self.on_unit and units:
                self.on_unit(self.sent)
            self.expected.extend(self.model.decode(units, final=last))
            self.match()
            yield units, last

    def take(self, item: Item | Word | None, last: bool, _shown: int) -> None:
        if item is not None:
            self.early.append(item)
            self.match()
        if self.early and (last or len(self.early) > _EARLY):
            raise _DifferenceError(None, self.early[0])
        if last and self.expected:
            raise _DifferenceError(self.expected[0], None)

    def match(self) -> None:
        """Compare the items that both have returned."""
        while self.early and self.expected:
            wanted, item = self.expected.popleft(), self.early.popleft()
            if item != self.simulation.like(wanted):
                raise _DifferenceError(wanted, item)
            self.offset = wanted.offset + wanted.length
            if self.on_item:
                self.on_item(wanted)
