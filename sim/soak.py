# SPDX-License-Identifier: BSD-2-Clause
"""Long simulations of a core with random packets and pauses. Requires the extra ``arrays``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from time import monotonic

import numpy as np

from utf8fpga.hdl import CoreParameters, build
from utf8fpga.sim import check
from utf8fpga.sim.beats import ContractError
from utf8fpga.sim.bulk import BulkComparison, BulkDifferenceError, bulk_golden
from utf8fpga.sim.check import Mismatch
from utf8fpga.sim.engines import Netlist
from utf8fpga.sim.simulation import Simulation
from utf8fpga.sim.traffic import Traffic, traffic_for

_ROUND = 1 << 21
"""About the symbols of a round with a fast golden function."""

_SLOW_ROUND = 1 << 14
"""The same without."""

_ROUNDS_AHEAD = 32
"""The rounds that begin elsewhere before the result of the first one is collected."""

AT_ONCE = 1 << 18
"""Upper bound on the symbols that are compared at once."""


@dataclass
class Totals:
    """What a long simulation has processed.

    Attributes:
        rounds: the rounds, each of which is one run of the simulation, with a seed of its own.
        symbols: the input symbols sent.
    """

    rounds: int = 0
    packets: int = 0
    symbols: int = 0
    cycles: int = 0
    seconds: float = 0.0

    def add(self, others: Totals) -> None:
        """Add what another run has processed, but for its time."""
        for name in ("rounds", "packets", "symbols", "cycles"):
            setattr(self, name, getattr(self, name) + getattr(others, name))


def soak(
    simulation: Simulation,
    *,
    seed: int = 0,
    seconds: float | None = None,
    symbols: int | None = None,
    corpus: bytes = b"",
    on_round: Callable[[Totals], None] | None = None,
    executor: Executor | None = None,
) -> tuple[Totals, Mismatch | None]:
    """Compare a core with its golden function on packets and pauses that the seed determines: see `traffic`.

    Round n, counted from 0, has the seed `seed` + n, so it can be repeated without those before it.

    Args:
        seed: the seed of the first round, not negative.
        seconds: the time after which no further round begins.
        symbols: the number of input symbols after which no further round begins.
        executor: runs the rounds, of the core that the parameters of the simulation build; default: this process.

    Returns:
        What was processed, and the first difference, reduced as by `compare`; None where there is none.
    """
    entry = simulation.entry
    is_fast = simulation.engine != "python" and not entry.accepts_gaps and bool(bulk_golden(simulation))
    size = _ROUND if is_fast else _SLOW_ROUND
    totals, begun, following = Totals(), monotonic(), seed
    # Results are collected in order.
    limit = _ROUNDS_AHEAD if executor else 1
    pending: deque[Callable[[], tuple[Totals, Mismatch | None]]] = deque()
    while True:
        while (
            len(pending) < limit
            and (seconds is None or monotonic() - begun < seconds)
            and (symbols is None or totals.symbols + len(pending) * size < symbols)
        ):
            pending.append(_begun_round(simulation, executor, following, is_fast, corpus))
            following += 1
        if not pending:
            return totals, None
        processed, mismatch = pending.popleft()()
        totals.add(processed)
        totals.seconds = monotonic() - begun
        if on_round:
            on_round(totals)
        if mismatch or (symbols is not None and totals.symbols >= symbols):
            # The rounds that have begun elsewhere are not those of a process that runs one after another.
            return totals, mismatch


def _begun_round(
    simulation: Simulation, executor: Executor | None, seed: int, is_fast: bool, corpus: bytes
) -> Callable[[], tuple[Totals, Mismatch | None]]:
    """A function that returns the result of a round, which begins at once in an executor."""
    if executor is None:
        return partial(_round, simulation, seed, is_fast, corpus)
    built = simulation.entry.parameters, simulation.engine, simulation.netlist
    return executor.submit(_built_round, *built, seed, is_fast, corpus).result


@lru_cache(maxsize=1)
def _simulation(parameters: CoreParameters, engine: str, netlist: Netlist) -> Simulation:
    return Simulation(build(parameters), engine=engine, netlist=netlist)


def _built_round(
    parameters: CoreParameters, engine: str, netlist: Netlist, seed: int, is_fast: bool, corpus: bytes
) -> tuple[Totals, Mismatch | None]:
    return _round(_simulation(parameters, engine, netlist), seed, is_fast, corpus)


def _round(simulation: Simulation, seed: int, is_fast: bool, corpus: bytes) -> tuple[Totals, Mismatch | None]:
    """One round: what it has processed, and the first difference."""
    given = traffic_for(simulation.core, simulation.entry, seed, _ROUND if is_fast else _SLOW_ROUND, corpus)
    cycles, mismatch = (_fast_round if is_fast else _slow_round)(simulation, given)
    return Totals(1, len(given.ends), len(given.symbols), cycles), mismatch


def _fast_round(simulation: Simulation, given: Traffic) -> tuple[int, Mismatch | None]:
    run = BulkComparison(simulation, given.options)
    data = given.symbols.astype(np.uint8).tobytes()
    ends = given.ends
    try:
        for first in range(0, max(len(data), 1), AT_ONCE):
            after = first + AT_ONCE
            more = after < len(data)
            # Empty packets at the end of a part belong to the next one.
            low, high = np.searchsorted(ends, [first, after], "left")
            here = ends[low : high if more else len(ends)]
            run.send(data[first:after], (here - first).tolist(), more=more)
    except BulkDifferenceError as difference:
        return run.cycles, run.mismatch(difference)
    return run.cycles, None


def _texts(given: Traffic) -> Iterator[list[int]]:
    first = 0
    for end in given.ends.tolist():
        yield given.symbols[first:end].tolist()
        first = end


def _slow_round(simulation: Simulation, given: Traffic) -> tuple[int, Mismatch | None]:
    texts = list(_texts(given))
    of_one_text = replace(given.options, separate_ends=(any(given.options.separate_ends),))
    reason, suspects = "", texts
    try:
        found = simulation.run(texts, **vars(given.options))
    except ContractError as error:
        cycles, reason = 0, str(error)
    else:
        cycles = found.cycles
        suspects = [text for text, got in zip(texts, found.texts, strict=True) if simulation.expected(text) != got]
        if not suspects:
            return cycles, None
    deadline, not_alone = check.search_deadline(), check.DEPENDS_ON_EARLIER
    for text in suspects:
        if monotonic() > deadline:
            not_alone = check.NOT_REPRODUCED
            break
        if mismatch := check.compare(simulation, text, **vars(of_one_text)):
            return cycles, mismatch
    units: Sequence[int] = suspects[0] if suspects else ()
    unknown = check.described(simulation, tuple(units), of_one_text, 0, None, None, reason)
    return cycles, replace(unknown, replay=(), no_replay=not_alone)
