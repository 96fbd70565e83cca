# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of a simulated core with its golden function, and a report of the first difference."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

from utf8fpga.hdl import OutputSymbol, command_words
from utf8fpga.model import spell
from utf8fpga.sim.beats import Beat, StreamOptions, beats_of, symbol_bytes, symbol_width
from utf8fpga.sim.simulation import Simulation

_NEAR = 64
"""Number of units beside those of four beats, before and after a difference, that are kept."""

_SEARCH_SECONDS = 60.0
"""The time after which no further shorter input, or other stream options, are tried to reproduce a difference."""

_FEW = (1, 2, 3, 4, 8, 16)
"""Numbers of units that are removed at once, in addition to halves. Whole beats keep the alignment of those behind."""

DEPENDS_ON_EARLIER = "since these units alone are decoded correctly: the difference depends on earlier units"
"""The reason why a difference has no replay command."""


Observer = Callable[[Any], None]


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
    reason: str
    unit_width: int
    replay: tuple[str, ...]
    no_replay: str
    core: str

    def __str__(self) -> str:
        shown = spell(self.units, self.unit_width) or "an empty text"
        model, simulated = ("no item" if each is None else each for each in (self.expected, self.simulated))
        # Netlists have no waveforms.
        waveform = [] if "--netlist" in self.replay else ["--vcd", "mismatch.vcd"]
        command = shlex.join([*self.replay, *waveform]) if self.replay else f"none, {self.no_replay}"
        contract = f"\n  contract:  {self.reason}" if self.reason else ""
        return (
            f"the {self.core} differs from the model at offset {self.offset} of {shown}\n"
            f"  model:     {model}\n  simulated: {simulated}{contract}\n  replay:    {command}"
        )


def compare(
    simulation: Simulation,
    units: Iterable[int],
    *,
    vcd: Path | None = None,
    on_item: Observer = lambda _: None,
    on_unit: Observer = lambda _: None,
    **streams: Sequence[bool],
) -> Mismatch | None:
    """Simulate a core on one text of any length and compare each symbol with its golden function.

    A symbol that comes before it is determined is no difference: the harness notices it, in a soak or a proof.

    Args:
        simulation: the core.
        units: the input symbols of the text.
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
    found = first_difference(simulation, tuple(units), options, vcd=vcd, on_item=on_item, on_unit=on_unit)
    if found is None:
        return None
    # Netlists are simulated as graphs only.
    simulation = simulation if simulation.netlist else simulation.on("python")
    if less := first_difference(simulation, found.units, options):
        return shortest(simulation, less, options)
    return replace(found, replay=(), no_replay=DEPENDS_ON_EARLIER)


def shortest(simulation: Simulation, found: Mismatch, options: StreamOptions) -> Mismatch:
    """A difference with the shortest input and the simplest stream options found, given one that these reproduce."""
    deadline = monotonic() + _SEARCH_SECONDS
    less: Mismatch | None = found
    while less:
        found, less = less, None
        for units, simpler in _simpler(found.units, options):
            if monotonic() < deadline and (less := first_difference(simulation, units, simpler)):
                options = simpler
                break
    return found


def _simpler(units: tuple[int, ...], options: StreamOptions) -> Iterator[tuple[tuple[int, ...], StreamOptions]]:
    """Inputs with simpler stream options, then without some of the units, the most first."""
    for each in options.simpler:
        if each != options:
            yield units, each
    count = len(units)
    halvings = {count >> bits for bits in range(1, count.bit_length())}
    for size in sorted(halvings | {size for size in _FEW if size < count}, reverse=True):
        for at in range(count - size, -1, -size):
            yield units[:at] + units[at + size :], options


def first_difference(
    simulation: Simulation,
    units: Sequence[int],
    options: StreamOptions,
    *,
    vcd: Path | None = None,
    on_item: Observer = lambda _: None,
    on_unit: Observer = lambda _: None,
) -> Mismatch | None:
    """The first difference for a text, which is not reduced, with the units near it; see `compare`."""
    entry = simulation.entry
    expected = list(entry.golden().process(units, final=True))

    def presented() -> Iterator[Beat]:
        sent = 0
        for slots, last in beats_of([units], simulation.core.lanes, options):
            sent += len(slots) - slots.count(None)
            on_unit(sent)
            yield slots, last

    run = simulation.run_beats(presented(), options, vcd=vcd)
    found, reason = list(chain.from_iterable(run.texts)), run.error
    place = offset = 0
    while place < min(len(expected), len(found)) and found[place] == entry.comparable(expected[place]):
        on_item(expected[place])
        offset, place = offset + expected[place].length, place + 1
    if place == len(expected) == len(found) and not reason:
        return None
    wanted = entry.comparable(expected[place]) if place < len(expected) else None
    # A symbol that differs is before any violation of the contract.
    simulated, reason = (found[place], "") if place < len(found) else (None, reason)
    near = _NEAR + 4 * simulation.core.lanes
    start = max(0, offset - near)
    part = tuple(units[start : offset + near])
    return described(simulation, part, options, offset - start, wanted, simulated, reason)


def described(
    simulation: Simulation,
    units: tuple[int, ...],
    options: StreamOptions,
    offset: int,
    expected: OutputSymbol | None,
    simulated: OutputSymbol | None,
    reason: str,
) -> Mismatch:
    """A `Mismatch` with its replay command, if there is one."""
    parameters, width = simulation.entry.parameters, symbol_width(simulation.core)
    words = command_words(parameters)
    core, arguments = (words[:1], words[1:]) if words[:1] == [parameters.core] else ([], words)
    # The units as the bytes of a file.
    data = b"".join(unit.to_bytes(symbol_bytes(width), "little") for unit in units).hex(" ").upper()
    replay = "utf8fpga", "simulate", *core, "--hex", data, *arguments, *options.arguments, *simulation.arguments
    obstacle = parameters.obstacle or options.obstacle
    how = ((), f"since {obstacle}") if obstacle else (replay, "")
    return Mismatch(units, offset, expected, simulated, reason, width, *how, core=parameters.core)
