# SPDX-License-Identifier: BSD-2-Clause
"""The compiled loop that sends beats to a core and receives its output, for 64 runs at once."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from utf8fpga.sim.kernel import set_input, settle, tick

LAST, NULL = 1, 2
"""The kinds of an input beat: it ends its text; it is a null beat."""


class Status(IntEnum):
    """Why a run has ended; `RUNNING` if it has not."""

    RUNNING = 0
    DONE = 1
    NEEDS_INPUT = 2
    DEASSERTED = 3
    CHANGED = 4
    EARLY_LAST = 5
    STUCK = 6
    ENDLESS = 7
    VIOLATION = 8
    """A foreign core asserted `violation`."""


_DONE, _NEEDS_INPUT, _DEASSERTED, _CHANGED = 1, 2, 3, 4
_EARLY_LAST, _STUCK, _ENDLESS, _VIOLATION = 5, 6, 7, 8


class Ports(NamedTuple):
    """The literals of the ports of a core.

    Attributes:
        last: the bit of the output payload that ends a text.
        violation: the literal of an output that a foreign core asserts; 0 without one.
    """

    in_payload: NDArray[np.int64]
    in_valid: int
    in_ready: int
    out_payload: NDArray[np.int64]
    out_valid: int
    out_ready: int
    last: int
    violation: int


class Limits(NamedTuple):
    """When a run ends.

    Attributes:
        patience: see `patience_of`.
        quiet: the cycles without output after which a run ends when all beats are accepted; 0: it ends when as many
            texts have ended at the output as at the input.
        more: a run waits for more beats.
    """

    patience: int
    quiet: int
    more: bool


LINE = np.dtype(
    [
        # The number of the next beat, and that of the beat after the last one.
        ("next", np.int64),
        ("end", np.int64),
        # Whether `valid` is asserted for the next beat, and the first cycle in which it ever was.
        ("offered", np.bool_),
        ("first", np.int64),
        # Whether an output beat waits, and the first cycle in which `valid` was asserted for it.
        ("waiting", np.bool_),
        ("since", np.int64),
        # The cycles since a transfer in which the output was ready and the input was valid or finished; the same since
        # one at the input; and the cycles since that or an output beat.
        ("idle", np.int64),
        ("alone", np.int64),
        ("quiet", np.int64),
        # The texts that have ended at the input and not at the output; whether the last beat did not end its text.
        ("open", np.int64),
        ("inside", np.bool_),
        # The numbers of beats that were accepted and taken by this call.
        ("accepted", np.int64),
        ("taken", np.int64),
        # The last cycle with a transfer at the input, why the run has ended, and its length.
        ("final", np.int64),
        ("status", np.int64),
        ("cycles", np.int64),
    ]
)
"""The state of a run."""


class Given(NamedTuple):
    """What is sent.

    Attributes:
        beats: the payloads of the beats of all runs, in words of 64 bits.
        kinds: for each beat `LAST` or `NULL` or 0.
        input_pauses: the pattern of pauses, 1 is a pause.
        output_pauses: likewise.
    """

    beats: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    input_pauses: NDArray[np.uint8]
    output_pauses: NDArray[np.uint8]


class Taken(NamedTuple):
    """What is received.

    Attributes:
        payloads: for each run and output beat its payload.
        cycle: for each of them the cycle of the transfer.
        since: for each of them the first cycle in which `valid` was asserted.
        accepted: for each run and input beat the cycle of the transfer.
        waiting: for each run the payload of the output beat that waits.
        seen: for each run the last output payload.
    """

    payloads: NDArray[np.uint64]
    cycle: NDArray[np.int64]
    since: NDArray[np.int64]
    accepted: NDArray[np.int64]
    waiting: NDArray[np.uint64]
    seen: NDArray[np.uint64]


@numba.njit(cache=True)
def _transpose(block: Any) -> None:
    """Exchange bit n of word m with bit m of word n, for 64 words."""
    size, mask = 32, np.uint64(0x00000000FFFFFFFF)
    while size:
        for start in range(0, 64, 2 * size):
            for low in range(start, start + size):
                changed = (block[low] >> np.uint64(size) ^ block[low + size]) & mask
                block[low] ^= changed << np.uint64(size)
                block[low + size] ^= changed
        size >>= 1
        mask ^= mask << np.uint64(size)


@numba.njit(cache=True)
def _spread(values: Any, literals: Any, payloads: Any, block: Any) -> None:
    """Set inputs from a payload of each run."""
    runs, words = payloads.shape
    for word in range(words):
        bits = min(64, len(literals) - 64 * word)
        if runs == 1:
            for bit in range(bits):
                set_input(values, literals[64 * word + bit], payloads[0, word] >> np.uint64(bit) & np.uint64(1))
            continue
        block[:runs] = payloads[:, word]
        _transpose(block)
        for bit in range(bits):
            set_input(values, literals[64 * word + bit], block[bit])


@numba.njit(cache=True)
def _collect(values: Any, literals: Any, payloads: Any, block: Any) -> None:
    """Collect the values of outputs as a payload of each run."""
    runs, words = payloads.shape
    for word in range(words):
        bits = min(64, len(literals) - 64 * word)
        if runs == 1:
            payload = np.uint64(0)
            for bit in range(bits):
                payload |= (values[literals[64 * word + bit]] & np.uint64(1)) << np.uint64(bit)
            payloads[0, word] = payload
            continue
        for bit in range(64):
            block[bit] = values[literals[64 * word + bit]] if bit < bits else np.uint64(0)
        _transpose(block)
        payloads[:, word] = block[:runs]


# Records and arrays are passed one by one, since a tuple of arrays counts the references to each of them.


@numba.njit(cache=True)
def _begin(line: Any, cycle: int, limits: Any, is_paused: bool, is_ready: bool) -> None:
    """Begin a cycle of a run, or end the run."""
    has_beat = line.next < line.end
    if not has_beat:
        if limits.more:
            line.status = _NEEDS_INPUT
        elif line.quiet > limits.quiet if limits.quiet else not (line.open or line.inside):
            line.status = _DONE
        if line.status:
            line.cycles = cycle
            return
    elif not line.offered and not is_paused:
        line.offered = True
        if line.first < 0:
            line.first = cycle
    if is_ready and (line.offered or not has_beat):
        line.idle += 1
        line.alone += 1
    line.quiet += 1


@numba.njit(cache=True)
def _accept(line: Any, cycle: int, kind: int) -> None:
    """An input beat of a kind is transferred."""
    if kind != NULL:
        line.open += kind == LAST
        line.inside = kind != LAST
    line.next += 1
    line.accepted += 1
    line.offered = False
    line.idle = line.alone = line.quiet = 0
    line.final = cycle


@numba.njit(cache=True)
def _differs(ones: Any, others: Any, row: int) -> bool:
    count = 0
    for column in range(ones.shape[1]):
        count += ones[row, column] != others[row, column]
    return count > 0


@numba.njit(cache=True)
def _check(line: Any, violation: bool, limits: Any) -> None:
    """End a run after a cycle if something is wrong."""
    if line.status:
        return
    if violation:
        line.status = _VIOLATION
    elif line.open < 0 and not limits.quiet:
        line.status = _EARLY_LAST
    elif line.idle > limits.patience:
        line.status = _STUCK
    elif line.alone > 2 * limits.patience:
        line.status = _ENDLESS


@numba.njit(cache=True)
def _offer(cycle: int, lines: Any, limits: Any, beats: Any, pauses: Any, payloads: Any) -> Any:
    """Begin a cycle of all runs: those that proceed, those with `valid` asserted, and those with `ready` asserted."""
    input_pauses, output_pauses = pauses
    is_paused = input_pauses[cycle % len(input_pauses)] != 0
    is_ready = output_pauses[cycle % len(output_pauses)] == 0
    running = valid = ready = np.uint64(0)
    for run in range(len(lines)):
        line = lines[run]
        if line.status:
            continue
        _begin(line, cycle, limits, is_paused, is_ready)
        for word in range(payloads.shape[1]):
            payloads[run, word] = beats[line.next, word] if line.next < line.end else np.uint64(0)
        bit = np.uint64(1) << np.uint64(run)
        if not line.status:
            running |= bit
            valid |= bit if line.offered else np.uint64(0)
            ready |= bit if is_ready else np.uint64(0)
    return running, valid, ready


@numba.njit(cache=True)
def _watch(cycle: int, lines: Any, words: Any, last: int, seen: Any, waiting: Any, taken: Any) -> None:
    """Check the output beats, and take those of which the output is ready.

    Args:
        words: the runs that proceed, those with `valid` asserted, and those with `ready` asserted.
        taken: the payloads and cycles of `Taken`.
    """
    running, valid, ready = words
    payloads, cycles, since = taken
    for run in range(len(lines)):
        line, bit = lines[run], np.uint64(1) << np.uint64(run)
        if not running & bit:
            continue
        if not valid & bit:
            if line.waiting:
                line.status = _DEASSERTED
            continue
        line.quiet = 0
        if not line.waiting:
            line.since = cycle
        elif _differs(seen, waiting, run):
            line.status = _CHANGED
            continue
        line.waiting = not ready & bit
        for word in range(seen.shape[1]):
            waiting[run, word] = seen[run, word]
            payloads[run, line.taken, word] = seen[run, word]
        if line.waiting:
            continue
        cycles[run, line.taken] = cycle
        since[run, line.taken] = line.since
        line.taken += 1
        line.idle = 0
        line.open -= seen[run, last >> 6] >> np.uint64(last & 63) & np.uint64(1) != 0


@numba.njit(cache=True)
def drive(
    circuit: Any,
    state: Any,
    ports: Any,
    given: Any,
    lines: Any,
    taken: Any,
    limits: Any,
    cycle: int,
    end: int,
) -> int:
    """Simulate from a cycle to another one, or until all runs have ended or one needs input; returns the cycle."""
    values, kinds, accepted = state.values, given.kinds, taken.accepted
    following, block = np.empty(len(circuit.following), np.uint64), np.zeros(64, np.uint64)
    payloads = np.zeros((len(lines), given.beats.shape[1]), np.uint64)
    pauses, received = (given.input_pauses, given.output_pauses), (taken.payloads, taken.cycle, taken.since)
    while cycle < end:
        running, valid, ready = _offer(cycle, lines, limits, given.beats, pauses, payloads)
        if not running:
            break
        _spread(values, ports.in_payload, payloads, block)
        set_input(values, ports.in_valid, valid)
        set_input(values, ports.out_ready, ready)
        settle(circuit, state)
        out_valid, accepts, violation = values[ports.out_valid], values[ports.in_ready], values[ports.violation]
        if out_valid & running:
            _collect(values, ports.out_payload, taken.seen, block)
        _watch(cycle, lines, (running, out_valid, ready), ports.last, taken.seen, taken.waiting, received)
        for run in range(len(lines)):
            line, bit = lines[run], np.uint64(1) << np.uint64(run)
            if not running & bit:
                continue
            if valid & accepts & bit:
                accepted[run, line.accepted] = cycle
                _accept(line, cycle, kinds[line.next])
            _check(line, violation & bit != 0, limits)
            if line.status:
                line.cycles = cycle
        tick(circuit, state, following)
        cycle += 1
    return cycle
