# SPDX-License-Identifier: BSD-2-Clause
"""The compiled loop that steps a graph: see `graph.Circuit` and `graph.State` for its arrays."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from utf8fpga.sim import contract

_NONE = np.uint64(0)

# What is cached does not notice that another file has changed: after a change of `watch`, delete `sim/__pycache__`.
watch = numba.njit(contract.watch)

ACCEPTS, VALID, PAYLOAD = range(3)
"""The places of what is seen of a core: `ready` of the input; `valid` of the output; what a foreign core must not
assert; and the output payload, from this place on."""


@numba.njit(cache=True)
def set_input(values: Any, literal: int, word: Any) -> None:
    """Set an input."""
    values[literal] = word
    values[literal ^ 1] = ~word


@numba.njit(cache=True)
def rows_from(values: Any, address: Any, row: int, runs: Any) -> Any:
    """The runs whose address is `row`, and the number of rows until the next one that may have any."""
    for level in range(len(address) - 1, -1, -1):
        # A literal has its inverse beside it.
        runs &= values[address[level] ^ (row >> level & 1 ^ 1)]
        if not runs:
            return runs, 1 << level
    return runs, 1


@numba.njit(cache=True)
def read(values: Any, memory: Any, address: Any, data: Any, runs: Any) -> None:
    """Read a memory; a row that does not exist is 0."""
    found, row = np.zeros(len(data), np.uint64), 0
    while row < len(memory):
        here, skip = rows_from(values, address, row, runs)
        if here:
            found |= memory[row] & here
        row += skip
    for bit in range(len(data)):
        set_input(values, data[bit], found[bit])


@numba.njit(cache=True)
def write(values: Any, memory: Any, address: Any, data: Any, enable: Any, runs: Any) -> None:
    """Write a memory."""
    enabled = _NONE
    for literal in enable:
        enabled |= values[literal]
    runs &= enabled
    row = 0
    while runs and row < len(memory):
        here, skip = rows_from(values, address, row, runs)
        if here:
            for bit in range(len(data)):
                changed = here & values[enable[bit]]
                memory[row, bit] = (memory[row, bit] & ~changed) | (values[data[bit]] & changed)
        row += skip


@numba.njit(cache=True)
def settle(circuit: Any, state: Any) -> None:
    """Compute all gates from the inputs, the flip-flops and the memories."""
    values, left, right = state.values, circuit.left, circuit.right
    first, place, literals = 0, circuit.first_gate, circuit.literals
    for number in range(len(circuit.reads) + 1):
        end = circuit.reads[number, 0] if number < len(circuit.reads) else len(left)
        for gate in range(first, end):
            both = values[left[gate]] & values[right[gate]]
            values[place] = both
            values[place + 1] = ~both
            place += 2
        first = end
        if number < len(circuit.reads):
            _, start, rows, width, address, data, end = circuit.reads[number]
            memory = state.memory[start : start + rows * width].reshape(rows, width)
            read(values, memory, literals[address:data], literals[data:end], state.active)


@numba.njit(cache=True)
def tick(circuit: Any, state: Any, following: Any) -> None:
    """The clock edge after `settle`; `following` is an array for the values of the flip-flops."""
    values, literals = state.values, circuit.literals
    following[:] = values[circuit.following]
    for number in range(len(circuit.writes)):
        start, rows, width, address, data, enable, end = circuit.writes[number]
        memory = state.memory[start : start + rows * width].reshape(rows, width)
        words = literals[data:enable], literals[enable:end]
        write(values, memory, literals[address:data], words[0], words[1], state.active)
    for latch in range(len(circuit.following)):
        set_input(values, circuit.first_latch + 2 * latch, following[latch])


@numba.njit(cache=True)
def step(circuit: Any, state: Any, places: Any, given: Any, literals: Any, found: Any) -> None:
    """Simulate a cycle for each row of `given`, the values of the inputs at `places`; write those of `literals`."""
    following = np.empty(len(circuit.following), np.uint64)
    for cycle in range(len(given)):
        for bit in range(len(places)):
            set_input(state.values, places[bit], given[cycle, bit])
        settle(circuit, state)
        found[cycle] = state.values[literals]
        tick(circuit, state, following)


@numba.njit(cache=True)
def is_set(words: Any, place: int, run: int) -> bool:
    """Whether a word is 1 in a run."""
    return bool(words[place] >> np.uint64(run) & np.uint64(1))


@numba.njit(cache=True)
def offer(values: Any, ports: Any, beats: Any, runs: Any, is_paused: bool) -> None:
    """Drive the input for a cycle: the payload of the next beat of each run, and whether it is offered."""
    given, offered = np.zeros(len(ports.given), np.uint64), _NONE
    for number in range(len(runs)):
        run, bit = runs[number], np.uint64(1) << np.uint64(number)
        if run.following < run.end:
            run.offered |= not is_paused
            given |= bit * beats[run.following]
        offered |= bit * np.uint64(run.offered)
    for place in range(len(given)):
        set_input(values, ports.given[place], given[place])
    set_input(values, ports.valid, offered)


@numba.njit(cache=True)
def has_ended(runs: Any, silent: int, more: bool, cycle: int) -> bool:
    """Whether all runs have ended, or want further beats; note those that end before a cycle."""
    is_done = True
    for run in runs:
        is_sent = run.following == run.end
        is_over = run.silent > silent if silent else run.open == 0 and not run.inside
        if run.ended < 0 and is_sent and is_over and not more:
            run.ended = cycle
        is_done &= run.ended >= 0 or (more and is_sent)
    return is_done


@numba.njit(cache=True)
def play(circuit: Any, state: Any, ports: Any, sent: Any, runs: Any, limits: Any, start: int) -> Any:
    """Send beats in up to 64 runs, and record what is transferred.

    Args:
        sent: the bits of the payload of each beat, of all runs; its kind; and for each cycle whether the next beat, and
            `ready`, is delayed.
        runs: for each run `FIELDS`; the next one of its beats, and the one after its last; the cycle in which it ended
            or something was wrong, or -1.
        limits: the patience; `silent`, see `CoreRuns`; and whether further beats follow those that are given.
        start: the number of the first cycle.

    Returns:
        The number of cycles, fewer than pauses if all runs end, or want further beats; and the fields of `Transfers`.
    """
    (beats, kinds, pauses), (patience, silent, more) = sent, limits
    held, most = np.empty(len(circuit.following), np.uint64), len(pauses) * len(runs)
    accepted, received = np.empty((most, 2), np.int64), np.empty((most, 3), np.int64)
    payloads = np.empty((most, len(ports.seen) - PAYLOAD), np.uint8)
    at_input, at_output, cycles = 0, 0, len(pauses)
    for number in range(len(pauses)):
        cycle, is_ready = start + number, not pauses[number, 1]
        if has_ended(runs, silent, more, cycle):
            cycles = number
            break
        offer(state.values, ports, beats, runs, pauses[number, 0])
        set_input(state.values, ports.ready, state.active if is_ready else _NONE)
        settle(circuit, state)
        row, changes = state.values[ports.seen], _NONE
        for place in range(PAYLOAD, len(row)):
            changes |= row[place] ^ ports.before[place]
        ports.before[:] = row
        for place in range(len(runs)):
            run = runs[place]
            if run.ended >= 0:
                continue
            kind = kinds[run.following] if run.following < run.end else contract.NONE
            accepts, valid = is_set(row, ACCEPTS, place), is_set(row, VALID, place)
            is_accepted, is_changed = run.offered and accepts, changes >> np.uint64(place) & np.uint64(1) != _NONE
            is_last = not silent and is_set(row, ports.last, place)
            watch(run, cycle, patience, kind, (accepts, valid, is_ready, is_changed, is_last))
            if run.fault:
                run.ended = cycle
                continue
            if is_accepted and kind != contract.NULL:
                accepted[at_input] = cycle, place
                at_input += 1
            if valid and is_ready:
                received[at_output] = cycle, place, run.since
                payloads[at_output] = row[PAYLOAD:] >> np.uint64(place) & np.uint64(1)
                at_output += 1
            run.following += is_accepted
        tick(circuit, state, held)
    return cycles, accepted[:at_input], received[:at_output], payloads[:at_output]
