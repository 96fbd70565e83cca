# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of a simulated core with its golden function, and a report of the first difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from utf8fpga.hdl import OutputSymbol
from utf8fpga.model import spell
from utf8fpga.sim.beats import PLAIN, Beat, StreamOptions, beat_of, beats_of, is_null, symbol_width
from utf8fpga.sim.simulation import Simulation

_NEAR = 64
"""Number of units beside those of four beats, before and after a difference, that are kept."""

_SEARCH_SECONDS = 60.0
"""The time after which no further shorter input, or other stream options, are tried to reproduce a difference."""

_FEW = (1, 2, 3, 4, 8, 16)
"""Numbers of units that are removed at once, in addition to halves. Whole beats keep the alignment of those behind."""

Observer = Callable[[Any], None]


@dataclass(frozen=True)
class Mismatch:
    """Where a simulated core first differs from its golden function.

    Attributes:
        simulation: the core.
        units: the shortest input found that reproduces a difference.
        options: the simplest stream options found that do.
        offset: the offset of the differing symbol, in input symbols from the start of `units`.
        expected: the golden function's symbol; None where it has no further one.
        simulated: the core's symbol; None where it gave no further one.
        reason: the violation of the stream contract; empty where there is none.
        is_alone: whether these units alone reproduce it.
    """

    simulation: Simulation
    units: tuple[int, ...]
    options: StreamOptions
    offset: int
    expected: OutputSymbol | None
    simulated: OutputSymbol | None
    reason: str
    is_alone: bool = True

    def __str__(self) -> str:
        shown = spell(self.units, symbol_width(self.simulation.core)) or "an empty text"
        model, simulated = ("no item" if each is None else each for each in (self.expected, self.simulated))
        contract = f"\n  contract:  {self.reason}" if self.reason else ""
        return (
            f"the {self.simulation.entry.parameters.core} differs from the model at offset {self.offset} of {shown}\n"
            f"  model:     {model}\n  simulated: {simulated}{contract}"
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
    found = _first_difference(simulation, tuple(units), options, vcd=vcd, on_item=on_item, on_unit=on_unit)
    if found is None:
        return None
    # Netlists are simulated as graphs only.
    simulation = simulation if simulation.netlist else simulation.on("python")
    if less := _first_difference(simulation, found.units, options):
        return _shortest(less)
    return replace(found, is_alone=False)


def _shortest(found: Mismatch) -> Mismatch:
    """A difference with the shortest input and the simplest stream options found, given one that these reproduce."""
    deadline = monotonic() + _SEARCH_SECONDS
    less: Mismatch | None = found
    while less:
        found, less = less, None
        for units, simpler in _simpler(found.units, found.options):
            if monotonic() < deadline and (less := _first_difference(found.simulation, units, simpler)):
                break
    return found


def _simpler(units: tuple[int, ...], options: StreamOptions) -> Iterator[tuple[tuple[int, ...], StreamOptions]]:
    """Inputs with simpler stream options, then without some of the units, the most first."""
    for name, default in vars(PLAIN).items():
        if getattr(options, name) != default:
            yield units, replace(options, **{name: default})
    count = len(units)
    halvings = {count >> bits for bits in range(1, count.bit_length())}
    for size in sorted(halvings | {size for size in _FEW if size < count}, reverse=True):
        for at in range(count - size, -1, -size):
            yield units[:at] + units[at + size :], options


def _first_difference(
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
    return Mismatch(simulation, part, options, offset - start, wanted, simulated, reason)


class Trace(NamedTuple):
    """The texts and the pauses of a trace since its last reset.

    Attributes:
        texts: the symbols of each text; the last one may be incomplete.
        options: the pauses, null beats and ends.
        payloads: the output beats that were transferred.
    """

    texts: list[tuple[int, ...]]
    options: StreamOptions
    payloads: list[int]

    @staticmethod
    def of(core: Any, cycles: Sequence[dict[str, int]]) -> Trace:
        """Read the ports ``see_…`` of an `Environment`; a beat that waits at the end is taken as transferred."""
        start = max((number + 1 for number, cycle in enumerate(cycles) if cycle["see_reset"]), default=0)
        since = cycles[start:]
        accepted = [cycle for cycle in since[:-1] if cycle["see_in_valid"] and cycle["see_in_ready"]]
        accepted += [cycle for cycle in since[-1:] if cycle["see_in_valid"]]
        beats = [beat_of(core, cycle["see_in_payload"]) for cycle in accepted]
        texts: list[tuple[int, ...]] = [()]
        ends: list[bool] = []
        for slots, last in (beat for beat in beats if not is_null(beat)):
            units = tuple(slot for slot in slots if slot is not None)
            texts[-1] += units
            if last:
                texts.append(())
                ends.append(not units)
        if not texts[-1]:
            texts.pop()
        # The end of the last text follows the trace if it is not in it.
        ends.append(True)
        # The patterns repeat, so each has a cycle without a pause.
        options = StreamOptions(
            input_pauses=[*(not cycle["see_in_valid"] for cycle in since), False],
            output_pauses=[*(not cycle["see_out_ready"] for cycle in since), False],
            null_beats=[*map(is_null, beats), False],
            separate_ends=ends,
        )
        payloads = [cycle["see_out_payload"] for cycle in since if cycle["see_out_valid"] and cycle["see_out_ready"]]
        return Trace(texts, options, payloads)


def mismatch_of(simulation: Simulation, cycles: Sequence[dict[str, int]], reason: str) -> Mismatch:
    """The difference in a trace, of the text alone that shows it in Amaranth's simulator, shortened there.

    Args:
        cycles: the trace up to the cycle of the difference.
        reason: the property that does not hold, if no text alone shows it.
    """
    trace, python = Trace.of(simulation.core, cycles), simulation.on("python")
    pauses = replace(trace.options, null_beats=(False,), separate_ends=(False,))
    for text in reversed(trace.texts):
        for options in (PLAIN, pauses):
            if found := _first_difference(python, text, options):
                return _shortest(found)
    last_text = trace.texts[-1] if trace.texts else ()
    return Mismatch(simulation, last_text, PLAIN, 0, None, None, reason, is_alone=False)
