# SPDX-License-Identifier: BSD-2-Clause
"""The compiled loop that steps a graph: see `graph.Circuit` and `graph.State` for its arrays."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_NONE = np.uint64(0)


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
def read(values: Any, memory: Any, address: Any, data: Any, rows: int, runs: Any) -> None:
    """Read a memory; a row that does not exist is 0."""
    for literal in data:
        values[literal] = _NONE
    row = 0
    while row < rows:
        here, skip = rows_from(values, address, row, runs)
        if here:
            for bit in range(len(data)):
                values[data[bit]] |= memory[row * len(data) + bit] & here
        row += skip
    for literal in data:
        values[literal ^ 1] = ~values[literal]


@numba.njit(cache=True)
def write(values: Any, memory: Any, address: Any, data: Any, enable: Any, rows: int, runs: Any) -> None:
    """Write a memory."""
    enabled = _NONE
    for literal in enable:
        enabled |= values[literal]
    runs &= enabled
    row = 0
    while runs and row < rows:
        here, skip = rows_from(values, address, row, runs)
        if here:
            for bit in range(len(data)):
                changed = here & values[enable[bit]]
                place = row * len(data) + bit
                memory[place] = (memory[place] & ~changed) | (values[data[bit]] & changed)
        row += skip


@numba.njit(cache=True)
def set_input(values: Any, literal: int, word: Any) -> None:
    """Set an input."""
    values[literal] = word
    values[literal ^ 1] = ~word


@numba.njit(cache=True)
def settle(circuit: Any, state: Any) -> None:
    """Compute all gates from the inputs, the flip-flops and the memories."""
    values, left, right = state.values, circuit.left, circuit.right
    first, number, literals = 0, 0, circuit.literals
    place = circuit.first_gate
    while True:
        end = circuit.reads[number, 0] if number < len(circuit.reads) else len(left)
        for gate in range(first, end):
            both = values[left[gate]] & values[right[gate]]
            values[place] = both
            values[place + 1] = ~both
            place += 2
        first = end
        if number == len(circuit.reads):
            return
        _, start, rows, width, bits, address, data = circuit.reads[number]
        memory = state.memory[start : start + rows * width]
        read(values, memory, literals[address : address + bits], literals[data : data + width], rows, state.active)
        number += 1


@numba.njit(cache=True)
def tick(circuit: Any, state: Any, following: Any) -> None:
    """The clock edge after `settle`; `following` is an array for the values of the flip-flops."""
    values, literals = state.values, circuit.literals
    for latch in range(len(circuit.following)):
        following[latch] = values[circuit.following[latch]]
    for number in range(len(circuit.writes)):
        start, rows, width, bits, address, data, enable = circuit.writes[number]
        memory = state.memory[start : start + rows * width]
        words = literals[data : data + width], literals[enable : enable + width]
        write(values, memory, literals[address : address + bits], words[0], words[1], rows, state.active)
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
        for bit in range(len(literals)):
            found[cycle, bit] = state.values[literals[bit]]
        tick(circuit, state, following)
