# SPDX-License-Identifier: BSD-2-Clause
"""The simulated decoder against the golden model, and what to show a person when they differ."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from utf8fpga.hdl import AnyDecoder, PracticeDecoder, SerialDecoder
from utf8fpga.model import Decoder, Item
from utf8fpga.sim.simulation import Beat, ContractError, Simulation, Word

__all__ = ["Mismatch", "compare"]

_REPLAY_UNITS = 16
"""How many units around a difference are tried as a shorter input, besides those of one beat."""


@dataclass(frozen=True)
class Mismatch:
    """Where the simulated decoder first differs from the golden model.

    Attributes:
        units: the shortest input found that shows a difference.
        offset: of the item that differs, in code units from the start of those.
        expected: the model's item, None where it has no more.
        simulated: the decoder's item, None where it gave no more.
        reason: how the stream contract was broken, or an empty string.
        options: what chooses the decoder on the command line, each with a space before it.
    """

    units: bytes
    offset: int
    expected: Item | Word | None
    simulated: Item | Word | None
    reason: str = ""
    options: str = ""

    def __str__(self) -> str:
        shown = self.units.hex(" ").upper()
        lines = [f"the decoder differs from the model at offset {self.offset} of {shown or 'an empty text'}"]
        lines += [f"  model:     {self.expected or 'no item'}", f"  simulated: {self.simulated or 'no item'}"]
        if self.reason:
            lines.append(f"  contract:  {self.reason}")
        lines.append(f"  replay:    utf8fpga simulate --hex '{shown}'{self.options} --vcd mismatch.vcd")
        return "\n".join(lines)


def compare(
    simulation: Simulation,
    units: Iterable[int],
    *,
    input_pauses: Sequence[bool] = (False,),
    output_pauses: Sequence[bool] = (False,),
    vcd: Path | None = None,
    on_item: Callable[[Item | Word], None] | None = None,
    on_unit: Callable[[int], None] | None = None,
) -> Mismatch | None:
    """Send one text of any length through the decoder and compare item by item with the model.

    Args:
        simulation: the decoder.
        units: the code units of the text; read as they are needed, so memory stays bounded.
        input_pauses: see `Simulation.run`.
        output_pauses: see `Simulation.run`.
        vcd: a file for the waveform.
        on_item: called with each item that the decoder gives, until the first difference.
        on_unit: called with the number of units taken so far.

    Returns:
        The first difference, on the shortest input found that shows one; None where all is equal.
    """
    run = _Comparison(simulation, units, on_item, on_unit)
    mismatch = run.first_difference(input_pauses, output_pauses, vcd)
    if mismatch is None:
        return None
    recent = mismatch.units[-_REPLAY_UNITS - simulation.decoder.lanes :]
    for length in range(1, len(recent) + 1):
        for start in range(len(recent) - length, -1, -1):
            shorter = _Comparison(simulation, recent[start : start + length])
            if found := shorter.first_difference(input_pauses, output_pauses):
                return found
    return mismatch


def _options(decoder: AnyDecoder) -> str:
    if isinstance(decoder, SerialDecoder | PracticeDecoder):
        return f" --pipeline {decoder.pipeline}" if decoder.pipeline else ""
    packed = " --packed" if decoder.packed else ""
    return f" --lanes {decoder.lanes} --architecture parallel --pipeline {decoder.pipeline}{packed}"


class _DifferenceError(Exception):
    def __init__(self, expected: Item | None, simulated: Item | Word | None) -> None:
        super().__init__()
        self.expected = expected
        self.simulated = simulated


@dataclass
class _Comparison:
    """One text on its way through the decoder and the model at once."""

    simulation: Simulation
    units: Iterable[int]
    on_item: Callable[[Item | Word], None] | None = None
    on_unit: Callable[[int], None] | None = None

    recent: bytearray = field(default_factory=bytearray)
    """The last units sent."""
    sent: int = 0
    offset: int = 0
    """Where the next item begins."""

    def __post_init__(self) -> None:
        self.model = Decoder(self.simulation.decoder.table)
        self.expected: deque[Item] = deque()

    def first_difference(
        self, input_pauses: Sequence[bool], output_pauses: Sequence[bool], vcd: Path | None = None
    ) -> Mismatch | None:
        reason = ""
        try:
            self.simulation.stream(
                self.beats(), self.take, input_pauses=input_pauses, output_pauses=output_pauses, vcd=vcd
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
        return Mismatch(bytes(self.recent), offset, wanted, simulated, reason, _options(self.simulation.decoder))

    def beats(self) -> Iterator[Beat]:
        held: tuple[int, ...] | None = None
        for beat in self.batches():
            if held is not None:
                self.expected.extend(self.model.decode(held))
                yield held, False
            held = beat
            self.sent += len(beat)
            self.recent.extend(beat)
            del self.recent[: -4 * self.replay]
            if self.on_unit:
                self.on_unit(self.sent)
        self.expected.extend(self.model.decode(held or (), final=True))
        yield held or (), True

    def batches(self) -> Iterator[tuple[int, ...]]:
        units = iter(self.units)
        while beat := tuple(islice(units, self.simulation.decoder.lanes)):
            yield beat

    @property
    def replay(self) -> int:
        """How many units around a difference are tried as a shorter input."""
        return _REPLAY_UNITS + self.simulation.decoder.lanes

    def take(self, item: Item | Word | None, last: bool, _shown: int) -> None:
        if item is not None:
            wanted = self.expected.popleft() if self.expected else None
            if wanted is None or item != self.simulation.like(wanted):
                raise _DifferenceError(wanted, item)
            self.offset = wanted.offset + wanted.length
            if self.on_item:
                self.on_item(item)
        if last and self.expected:
            raise _DifferenceError(self.expected[0], None)
