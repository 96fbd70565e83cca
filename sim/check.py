# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of a simulated core with its golden function, and a report of the first difference."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from utf8fpga.hdl import OutputSymbol, command_words
from utf8fpga.model import spell
from utf8fpga.sim.beats import Beat, StreamOptions, symbol_bytes, symbol_width
from utf8fpga.sim.contract import ContractError
from utf8fpga.sim.simulation import Simulation

_REPLAY_UNITS = 16
"""Number of units before a difference that are tried as a shorter input, in addition to one beat."""

_EARLY = 1
"""Symbols that a core may output before the golden function does: a mark whose length is not yet determined."""


@dataclass(frozen=True)
class Mismatch:
    """Where a simulated core first differs from its golden function.

    Attributes:
        units: the shortest input found that reproduces a difference.
        offset: the offset of the differing symbol, in input symbols from the start of `units`.
        expected: the golden function's symbol; None where it has no further one.
        simulated: the core's symbol; None where it gave no further one.
        reason: the violation of the stream contract; empty where there is none.
        unit_width: bits in an input symbol.
        replay: the words of a command that reproduces the difference; empty where there is no such command.
        no_replay: the reason why there is no such command.
        core: the name of the kind of core.
    """

    units: tuple[int, ...]
    offset: int
    expected: OutputSymbol | None
    simulated: OutputSymbol | None
    reason: str = ""
    unit_width: int = 8
    replay: tuple[str, ...] = ()
    no_replay: str = ""
    core: str = "decoder"

    def __str__(self) -> str:
        shown = spell(self.units, self.unit_width)
        model, simulated = ("no item" if each is None else each for each in (self.expected, self.simulated))
        lines = [f"the {self.core} differs from the model at offset {self.offset} of {shown or 'an empty text'}"]
        lines += [f"  model:     {model}", f"  simulated: {simulated}"]
        if self.reason:
            lines.append(f"  contract:  {self.reason}")
        # Netlists have no waveforms.
        waveform = [] if "--netlist" in self.replay else ["--vcd", "mismatch.vcd"]
        command = shlex.join([*self.replay, *waveform]) if self.replay else f"none, {self.no_replay}"
        lines.append(f"  replay:    {command}")
        return "\n".join(lines)


def compare(
    simulation: Simulation,
    units: Iterable[int],
    *,
    vcd: Path | None = None,
    on_item: Callable[[OutputSymbol], None] | None = None,
    on_unit: Callable[[int], None] | None = None,
    **streams: Sequence[bool],
) -> Mismatch | None:
    """Simulate a core on one text of any length and compare each symbol with its golden function.

    Args:
        simulation: the core.
        units: the input symbols of the text; read on demand, so memory is bounded.
        vcd: a file for the waveform.
        on_item: called with each symbol of the golden function that the core gave, too, until the first difference.
        on_unit: called with the number of units sent so far.
        streams: the attributes of `StreamOptions`.

    Returns:
        The first difference, reduced to the shortest input and the simplest stream options found that reproduce
        it; None where all items are equal.

    Raises:
        InvalidArgumentError: see `Simulation.run`.
        ToolError: see `Simulation.run`.
    """
    options = StreamOptions(**streams)
    mismatch = _Comparison(simulation, units, options, on_item, on_unit).first_difference(vcd)
    return mismatch and reproduced(simulation, mismatch, options)


def reproduced(simulation: Simulation, mismatch: Mismatch, options: StreamOptions) -> Mismatch:
    """A difference with the shortest input and the simplest stream options found that reproduce one."""
    simulation = replayed_in(simulation)
    for kept in (_REPLAY_UNITS + simulation.core.lanes, len(mismatch.units)):
        end = mismatch.offset + kept
        if found := first_difference(simulation, mismatch.units[max(0, mismatch.offset - kept) : end], options):
            return shortest(simulation, found, options)
    return replace(mismatch, replay=(), no_replay=DEPENDS_ON_EARLIER)


def replayed_in(simulation: Simulation) -> Simulation:
    """The simulation that reproduces a difference: Amaranth's, unless it is that of a netlist or of a foreign core."""
    return simulation if simulation.netlist or hasattr(simulation.core, "module") else simulation.on("python")


SEARCH_SECONDS = 60.0
"""The time after which no further shorter input, or other stream options, are tried to reproduce a difference."""


def search_deadline() -> float:
    """The end of `SEARCH_SECONDS` from now, in the time of `monotonic`."""
    return monotonic() + SEARCH_SECONDS


DEPENDS_ON_EARLIER = "since these units alone are decoded correctly: the difference depends on earlier units"
"""The reason why a difference has no replay command."""


def first_difference(simulation: Simulation, units: Sequence[int], options: StreamOptions) -> Mismatch | None:
    """The first difference for a text, which is not reduced."""
    return _Comparison(simulation, units, options).first_difference()


def shortest(simulation: Simulation, found: Mismatch, options: StreamOptions) -> Mismatch:
    """Like `reproduced`, of a difference that these units and options reproduce."""
    deadline = search_deadline()
    while monotonic() < deadline:
        plainer = (
            (each, first_difference(simulation, found.units, each)) for each in options.simpler if each != options
        )
        changed, less = next(((each, less) for each, less in plainer if less), (options, None))
        less = less or _shorter(found, partial(_tried, simulation, options, deadline))
        if less is None:
            break
        options, found = changed, less
    return found


def _tried(simulation: Simulation, options: StreamOptions, deadline: float, units: Sequence[int]) -> Mismatch | None:
    return first_difference(simulation, units, options) if monotonic() < deadline else None


def _shorter(found: Mismatch, tried: Callable[[Sequence[int]], Mismatch | None]) -> Mismatch | None:
    """A difference with a part of the units removed, as large as possible; None if all are needed."""
    count = len(found.units)
    halvings = {count >> bits for bits in range(1, count.bit_length())}
    # Removing whole beats keeps the alignment of the units after them.
    for size in sorted(halvings | {size for size in _FEW if size < count}, reverse=True):
        pieces = (found.units[:at] + found.units[at + size :] for at in range(count - size, -1, -size))
        if less := next(filter(None, map(tried, pieces)), None):
            return less
    return None


_FEW = (1, 2, 3, 4, 8, 16)
"""Numbers of units that are removed at once, in addition to halves."""


class _DifferenceError(Exception):
    def __init__(self, expected: OutputSymbol | None, simulated: OutputSymbol | None) -> None:
        super().__init__()
        self.expected = expected
        self.simulated = simulated


@dataclass
class _Comparison:
    """One text that the core and the golden function process concurrently."""

    simulation: Simulation
    units: Iterable[int]
    options: StreamOptions
    on_item: Callable[[OutputSymbol], None] | None = None
    on_unit: Callable[[int], None] | None = None

    sent: int = 0
    offset: int = 0
    """The offset of the next item in the text."""
    first: int = 0
    """The offset of the first one of `recent`."""

    def __post_init__(self) -> None:
        self.entry = self.simulation.entry
        self.golden = self.entry.golden()
        self.expected: deque[Any] = deque()
        self.early: deque[OutputSymbol] = deque()
        self.recent: list[int] = []
        """The units from a little before the next item to the most recent one."""
        self.window = 4 * (_REPLAY_UNITS + self.simulation.core.lanes)

    def first_difference(self, vcd: Path | None = None) -> Mismatch | None:
        reason = ""
        try:
            self.simulation.stream(self.presented(), self.options, self.take, vcd=vcd)
            return None
        except _DifferenceError as difference:
            expected, simulated = difference.expected, difference.simulated
        except ContractError as error:
            expected, simulated, reason = (self.expected[0] if self.expected else None), None, str(error)
        offset = self.offset - self.first
        near, wanted = tuple(self.recent[: offset + self.window]), expected and self.entry.comparable(expected)
        return described(self.simulation, near, self.options, offset, wanted, simulated, reason)

    def presented(self) -> Iterator[Beat]:
        """The beats, of which the golden function processes each when the engine reads it."""
        for slots, last in self.simulation.beats([self.units], self.options):
            units = [unit for unit in slots if unit is not None]
            self.sent += len(units)
            if self.on_unit and units:
                self.on_unit(self.sent)
            self.recent += units
            unneeded = self.offset - self.window - self.first
            if unneeded > self.window:
                del self.recent[:unneeded]
                self.first += unneeded
            self.expected.extend(self.golden.process(units, final=last))
            self.match()
            yield slots, last

    def take(self, symbols: list[OutputSymbol], last: bool, _valid_since: int) -> None:
        self.early.extend(symbols)
        self.match()
        if self.early and (last or len(self.early) > _EARLY):
            raise _DifferenceError(None, self.early[0])
        if last and self.expected:
            raise _DifferenceError(self.expected[0], None)

    def match(self) -> None:
        """Compare the symbols that both have returned."""
        while self.early and self.expected:
            wanted, item = self.expected.popleft(), self.early.popleft()
            if item != self.entry.comparable(wanted):
                raise _DifferenceError(wanted, item)
            self.offset += wanted.length
            if self.on_item:
                self.on_item(wanted)


def described(
    simulation: Simulation,
    units: tuple[int, ...],
    options: StreamOptions,
    offset: int,
    expected: OutputSymbol | None,
    simulated: OutputSymbol | None,
    reason: str = "",
) -> Mismatch:
    """A `Mismatch` with its replay command, if there is one."""
    parameters, width = simulation.entry.parameters, symbol_width(simulation.core)
    words = command_words(parameters)
    core, arguments = (words[:1], words[1:]) if words[:1] == [parameters.core] else ([], words)
    replay = ["utf8fpga", "simulate", *core, "--hex", _as_hex(units, width), *arguments, *options.arguments]
    replay += simulation.arguments
    obstacle = getattr(simulation.core, "obstacle", parameters.obstacle) or options.obstacle
    return Mismatch(
        units,
        offset,
        expected,
        simulated,
        reason,
        width,
        replay=() if obstacle else tuple(replay),
        no_replay=obstacle and f"since {obstacle}",
        core=parameters.core,
    )


def _as_hex(units: Iterable[int], width: int) -> str:
    """Input symbols as the bytes of a file, see `symbols_from`."""
    return b"".join(unit.to_bytes(symbol_bytes(width), "little") for unit in units).hex(" ").upper()
