# SPDX-License-Identifier: BSD-2-Clause
"""Long simulations of a core with random packets, pauses, null beats and resets. Requires the extra ``fast``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from random import Random
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utf8fpga.hdl import CoreParameters, build
from utf8fpga.sim import check
from utf8fpga.sim.beats import ContractError, StreamOptions, symbol_width
from utf8fpga.sim.check import Mismatch
from utf8fpga.sim.graph import RUNS, Numbers, Words
from utf8fpga.sim.session import Session
from utf8fpga.sim.simulation import Simulation
from utf8fpga.sim.stimulus import random_text
from utf8fpga.sim.stream_kernel import LAST, NULL, Status

_POOL = 1 << 10
"""Packets of a round, of which each of the 64 runs sends many."""

_WORDS = 1 << 16
"""The cycles of a round times the words of an output beat."""

_PERIOD = 47
"""Cycles after which pauses are repeated; no power of two, since depths of memories are."""

_ROUNDS_AHEAD = 32
"""The rounds that begin elsewhere before the result of the first one is collected."""


@dataclass
class Totals:
    """What a long simulation has processed.

    Attributes:
        rounds: the rounds, each of which has a seed of its own, and 64 runs of the core.
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
    on_round: Callable[[Totals], None] | None = None,
    executor: Executor | None = None,
) -> tuple[Totals, Mismatch | None]:
    """Compare a core with its golden function on packets and pauses that the seed determines.

    Round n, counted from 0, has the seed `seed` + n, so it can be repeated without those before it.

    Args:
        seed: the seed of the first round, not negative.
        seconds: the time after which no further round begins.
        symbols: the number of input symbols after which no further round begins.
        executor: runs the rounds, of the core that the parameters of the simulation build; default: this process.

    Returns:
        What was processed, and the first difference, reduced as by `compare`; None where there is none.
    """
    totals, begun, following, size = Totals(), monotonic(), seed, 1
    # Results are collected in order.
    limit = _ROUNDS_AHEAD if executor else 1
    pending: deque[Callable[[], tuple[Totals, Mismatch | None]]] = deque()
    while True:
        while (
            len(pending) < limit
            and (seconds is None or monotonic() - begun < seconds)
            and (symbols is None or totals.symbols + len(pending) * size < symbols)
        ):
            pending.append(_begun_round(simulation, executor, following))
            following += 1
        if not pending:
            return totals, None
        processed, mismatch = pending.popleft()()
        totals.add(processed)
        totals.seconds, size = monotonic() - begun, processed.symbols
        if on_round:
            on_round(totals)
        if mismatch or (symbols is not None and totals.symbols >= symbols):
            # The rounds that have begun elsewhere are not those of a process that runs one after another.
            return totals, mismatch


def _begun_round(
    simulation: Simulation, executor: Executor | None, seed: int
) -> Callable[[], tuple[Totals, Mismatch | None]]:
    """A function that returns the result of a round, which begins at once in an executor."""
    if executor is None:
        return partial(_round, simulation, seed)
    return executor.submit(_built_round, simulation.entry.parameters, simulation.netlist, seed).result


def _round(simulation: Simulation, seed: int) -> tuple[Totals, Mismatch | None]:
    return _Round(simulation, seed).result()


@lru_cache(maxsize=1)
def _simulation(parameters: CoreParameters, netlist: str | None) -> Simulation:
    return Simulation(build(parameters), engine="graph", netlist=netlist)


def _built_round(parameters: CoreParameters, netlist: str | None, seed: int) -> tuple[Totals, Mismatch | None]:
    return _round(_simulation(parameters, netlist), seed)


@dataclass(frozen=True)
class _Difference:
    """Where a run differs: in one of which packets, the core's symbol, and the violation of the contract, if any."""

    packets: list[tuple[int, ...]]
    simulated: Any
    reason: str


class _Packets:
    """Numbers in packets, to be picked in any order."""

    def __init__(self, packets: Sequence[Sequence[int]]) -> None:
        self.lengths = np.array([len(packet) for packet in packets], np.int64)
        self._starts = np.cumsum(self.lengths) - self.lengths
        self._numbers = np.array([number for packet in packets for number in packet], np.int64)

    def picked(self, order: Numbers) -> Numbers:
        """The numbers of packets one after another."""
        lengths = self.lengths[order]
        before = np.cumsum(lengths) - lengths
        found: Numbers = self._numbers[np.arange(lengths.sum()) + np.repeat(self._starts[order] - before, lengths)]
        return found


class _Round:
    """One round.

    A pool of packets goes through the golden function once. Each run sends packets of the pool in an order of its own,
    with pauses of its own; what is expected is then that of the packets, one after another.
    """

    def __init__(self, simulation: Simulation, seed: int) -> None:
        self._simulation, self._entry = simulation, simulation.entry
        self._draw, self._numbers = Random(seed), np.random.default_rng(seed)
        self._model = simulation.model
        # Numbers of 63 bits are random, the other bits of wider symbols are 0.
        width, table = min(63, symbol_width(simulation.core)), self._entry.input_table
        self._pool = [random_text(self._draw, table, width) for _ in range(_POOL)]
        self._slots = _Packets([self._with_gaps(text) for text in self._pool])
        self._symbols: dict[Any, int] = {}
        """The numbers of the symbols that are expected."""
        self._known: dict[bytes, int] = {}
        """The same by the bits of a symbol."""
        self._expected = _Packets([self._numbered(simulation.expected(text)) for text in self._pool])
        self._pauses = [self._patterns() for _ in range(2)]

    def _numbered(self, symbols: Sequence[Any]) -> list[int]:
        return [self._symbols.setdefault(symbol, len(self._symbols)) for symbol in symbols]

    def _with_gaps(self, text: Sequence[int]) -> list[int]:
        """The symbols of a text, and -1 for a lane without one, if the core accepts gaps."""
        found = []
        for symbol in text:
            while self._entry.accepts_gaps and self._draw.randrange(3) == 0:
                found.append(-1)
            found.append(symbol)
        return found

    def _patterns(self) -> NDArray[np.bool_]:
        """For each run a pattern of pauses: none, at random, or one long pause, after a cycle without."""
        shares = self._numbers.choice([0, 0, 0, 0.1, 0.5, 0.9], RUNS)
        patterns = self._numbers.random((RUNS, _PERIOD)) < shares[:, None]
        long = self._numbers.integers(RUNS, size=RUNS // 8)
        patterns[long] = np.arange(_PERIOD) < self._numbers.integers(1, _PERIOD, len(long))[:, None]
        patterns[:, 0] = False
        return patterns

    def result(self) -> tuple[Totals, Mismatch | None]:
        """What was processed, and the first difference."""
        session = Session(self._model, RUNS, input_pauses=self._pauses[0], output_pauses=self._pauses[1])
        totals = Totals(rounds=1)
        for cycles in (self._draw.randrange(1, 2 * _PERIOD), _WORDS // self._model.out_words):
            # A reset cuts off what was before.
            session.reset()
            beats = np.maximum(1, -(-self._slots.lengths // self._simulation.core.lanes))
            order = self._numbers.integers(_POOL, size=(RUNS, round(cycles / beats.mean()) + 1))
            found = self._sent(session, order, cycles)
            totals.cycles += session.cycle * RUNS
            for run, payloads in enumerate(found):
                ended = int(self._model.lasts(payloads).sum())
                totals.packets += ended
                totals.symbols += int(self._slots.lengths[order[run, :ended]].sum())
                if difference := self._difference(session, run, order[run], payloads):
                    return totals, self._mismatch(run, difference)
        return totals, None

    def _sent(self, session: Session, order: Numbers, cycles: int) -> list[Words]:
        """Send the packets, for so many cycles; the output payloads of each run."""
        lengths = self._slots.lengths[order.ravel()]
        is_separate = self._numbers.random(order.size) < 0.3
        beats, kinds = self._model.beats(self._slots.picked(order.ravel()), np.cumsum(lengths), is_separate)
        places = np.flatnonzero(self._numbers.random(len(kinds)) < 0.1)
        kinds, beats = np.insert(kinds, places, NULL), np.insert(beats, places, self._model.null_beat, axis=0)
        packets = order.shape[1]
        ends = np.flatnonzero(kinds == LAST)[packets - 1 :: packets] + 1
        found: list[list[Words]] = [[] for _ in range(RUNS)]
        for taken in session.send(beats, kinds, ends, cycles=cycles):
            for run, count in enumerate(session.lines["taken"].tolist()):
                found[run].append(taken.payloads[run, :count].copy())
        return [np.concatenate(parts) for parts in found]

    def _difference(self, session: Session, run: int, order: Numbers, payloads: Words) -> _Difference | None:
        """The first difference of a run."""
        reason, is_whole = "", session.lines[run]["status"] == Status.DONE
        try:
            session.raise_errors(run)
            self._check_form(payloads)
        except ContractError as error:
            reason = str(error)
        expected, ends = self._expected.picked(order), np.cumsum(self._expected.lengths[order])
        symbols, counts = self._model.symbols(payloads)
        numbers, found_ends = self._numbers_of(symbols), np.cumsum(counts)[self._model.lasts(payloads)]
        if not reason and _is_prefix(numbers, expected, is_whole) and _is_prefix(found_ends, ends, is_whole):
            return None
        place = _equal(numbers, expected)
        packet = min(int(np.searchsorted(ends, place, "right")), _equal(found_ends, ends), len(ends) - 1)
        simulated = self._symbol(symbols[place]) if place < len(symbols) else None
        # If a packet without output follows one whose end is lost, the difference is at the end of the former.
        first = np.searchsorted(ends, ends[packet], "left")
        return _Difference([tuple(self._pool[each]) for each in order[first : packet + 1]], simulated, reason)

    def _check_form(self, payloads: Words) -> None:
        """Check the lanes of output beats.

        Raises:
            ContractError: see `SymbolReader`.
        """
        for payload in payloads[self._model.irregular(payloads)]:
            self._simulation.read(int.from_bytes(payload.tobytes(), "little"))

    def _numbers_of(self, symbols: Words) -> Numbers:
        """The numbers of symbols; -1 for one that is not expected anywhere."""
        if symbols.shape[1] == 1:
            symbols = symbols[:, 0]
        different, places = np.unique(symbols, axis=0, return_inverse=True)
        for words in different:
            if (key := words.tobytes()) not in self._known:
                self._known[key] = self._symbols.get(self._symbol(words), -1)
        numbers = [self._known[words.tobytes()] for words in different]
        return np.array(numbers, np.int64)[places.ravel()]

    def _symbol(self, words: Words) -> Any:
        try:
            return self._simulation.read.symbol(int.from_bytes(words.tobytes(), "little"))
        except ContractError as error:
            return str(error)

    def _mismatch(self, run: int, difference: _Difference) -> Mismatch:
        """The difference of a run, by a packet alone if that reproduces it."""
        simulation, deadline = check.replayed_in(self._simulation), check.search_deadline()
        for phase, text in product(range(_PERIOD), difference.packets):
            options = StreamOptions(*(np.roll(patterns[run], -phase).tolist() for patterns in self._pauses))
            if monotonic() > deadline:
                break
            if mismatch := check.first_difference(simulation, text, options):
                return check.shortest(simulation, mismatch, options)
        unknown = check.described(
            self._simulation,
            difference.packets[-1],
            StreamOptions(),
            offset=0,
            expected=None,
            simulated=difference.simulated,
            reason=difference.reason,
        )
        return replace(unknown, replay=(), no_replay=check.DEPENDS_ON_EARLIER)


def _equal(ones: Numbers, others: Numbers) -> int:
    """The number of equal elements at the beginning."""
    count = min(len(ones), len(others))
    unequal = np.flatnonzero(ones[:count] != others[:count])
    return int(unequal[0]) if len(unequal) else count


def _is_prefix(found: Numbers, expected: Numbers, is_whole: bool) -> bool:
    """Whether the first numbers, or if `is_whole` all of them, are those expected."""
    return _equal(found, expected) == len(found) and (not is_whole or len(found) == len(expected))
