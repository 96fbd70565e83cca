# SPDX-License-Identifier: BSD-2-Clause
"""Whether a circuit treats each bit of a word as a narrow circuit of its kind treats its only one.

A circuit that only moves words is proved with narrow words. What is proved holds for wide ones if two conditions hold,
which are seen in the structure of the graphs, without a search:

- unrolled over time, each output of the wide circuit is the same function as the corresponding output of the narrow
  one, up to which bit of the words it moves;
- an output that is bit n of a word depends on no other bit of a word than bits n, and an output that is not part of a
  word depends on no bit of a word.

Registers start with arbitrary contents in both. So a state of a slice is a state of the narrow circuit, which requires
that each register of the one corresponds to exactly one of the other.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import count

from utf8fpga.formal.aiger import Aig

Place = tuple[int, Hashable]
"""The position of the corresponding bit in a port of the narrow circuit, and the slice to which a bit belongs: None for
a bit that is not part of a word."""

_NONE, _MIXED = 0, -1
"""The slice of what depends on no bit of a word, and of what depends on bits of several slices."""

_START = -1
"""In place of a function, for the inputs that choose the first values of latches."""


def corresponds(wide: Aig, narrow: Aig, places: Mapping[str, Sequence[Place]]) -> bool:
    """Whether each slice of a wide circuit is the narrow circuit.

    Args:
        wide, narrow: the circuits, whose registers start with any contents, with ports of the same names.
        places: by port of the wide circuit, one for each bit. A port that is not mentioned has no words.
    """
    all_places = {
        port: places.get(port, [(n, None) for n in range(len(bits))])
        for port, bits in {**wide.input_bits, **wide.output_bits}.items()
    }
    classes = _classes(wide, narrow, all_places)
    slices = _slices(wide, all_places)
    if classes is None or slices is None:
        return False
    of_wide, of_narrow = classes
    of_slices = [(of_wide[start.latch], slices[start.latch]) for start in wide.starts]
    of_registers = [of_narrow[start.latch] for start in narrow.starts]
    return len(set(of_slices)) == len(of_slices) and len(set(of_registers)) == len(of_registers)


def _classes(wide: Aig, narrow: Aig, places: Mapping[str, Sequence[Place]]) -> tuple[list[int], list[int]] | None:
    """The class of each latch of both circuits, or None if their outputs do not correspond.

    A partition of the latches is refined until the next values of the latches of a class are the same function of
    classes. Two functions of a round are the same if their gates are, up to the order of two inputs.
    """
    fresh = count(1)
    wide_bits = {port: [position for position, _ in bits] for port, bits in places.items()}
    narrow_bits = {port: range(len(bits)) for port, bits in {**narrow.input_bits, **narrow.output_bits}.items()}
    leaves: dict[tuple[str, int], int] = {}
    graphs = [
        (aig, _inputs(aig, positions, leaves, fresh)) for aig, positions in ((wide, wide_bits), (narrow, narrow_bits))
    ]
    # Duplicate registers are the same function, but may hold different values at the start; their names differ.
    kinds: dict[str, int] = {}
    latches = [
        [kinds[name] if name in kinds else kinds.setdefault(name, next(fresh)) for name in _names(aig)]
        for aig, _ in graphs
    ]
    classes = len(kinds)
    while True:
        refined, outputs = _refined(graphs, latches, fresh)
        before, classes = classes, len(set().union(*refined))
        if classes == before:
            break
        numbers = [next(fresh) for _ in range(classes)]
        latches = [[numbers[which] for which in each] for each in refined]
    is_same = all(
        outputs[0][at] == outputs[1][narrow.output_bits[port][position]]
        for port, bits in wide.output_bits.items()
        for at, position in zip(bits, wide_bits[port], strict=True)
    )
    return (latches[0], latches[1]) if is_same else None


def _refined(
    graphs: Sequence[tuple[Aig, Sequence[int]]], latches: Sequence[list[int]], fresh: Iterator[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """For each graph, the classes of its latches by their classes and next values before; the functions of its outputs.

    The new classes are numbered from 0.
    """
    gates: dict[tuple[int, int], int] = {}
    following: dict[tuple[int, int], int] = {}
    refined, outputs = [], []
    for (aig, inputs), before in zip(graphs, latches, strict=True):
        functions = _functions(aig, inputs, before, gates, fresh)
        values = [functions[literal >> 1] ^ (literal & 1) for literal in aig.latches]
        refined.append([following.setdefault(pair, len(following)) for pair in zip(before, values, strict=True)])
        outputs.append([functions[literal >> 1] ^ (literal & 1) for literal in aig.outputs])
    return refined, outputs


def _inputs(
    aig: Aig, positions: Mapping[str, Sequence[int]], leaves: dict[tuple[str, int], int], fresh: Iterator[int]
) -> list[int]:
    """The numbers of the inputs, by their ports and their positions in the narrow circuit; new ones are kept."""
    found = [0] * aig.inputs
    for port, bits in aig.input_bits.items():
        for bit, position in zip(bits, positions[port], strict=True):
            if (port, position) not in leaves:
                leaves[port, position] = next(fresh)
            found[bit] = leaves[port, position]
    return found


def _names(aig: Aig) -> list[str]:
    """The name of the register that each latch belongs to; empty for a latch that does not start with any value.

    Of all names of its wires it is the first one of the shortest, without the index of a bit.
    """
    ports = {bit: port for port, bits in aig.input_bits.items() for bit in bits}
    found = [""] * len(aig.latches)
    for start in aig.starts:
        words = [word.removeprefix("init:").split("[")[0] for word in ports.get(start.input, "").split()]
        # The numbers that make names of submodules unique are not those of the other circuit.
        names = [re.sub(r"\$\d+", "$", word) for word in words]
        found[start.latch] = min(names, key=lambda name: ("$" in name, len(name), name), default="")
    return found


def _functions(
    aig: Aig, inputs: Sequence[int], latches: Sequence[int], gates: dict[tuple[int, int], int], fresh: Iterator[int]
) -> list[int]:
    """By variable twice the number of its function, whose lowest bit is that of a literal; `gates` has known ones."""
    found = [0, *(2 * number for number in inputs), *(2 * number for number in latches)]
    for start in aig.starts:
        # The input that chooses the first value of a latch belongs to the class of the latch.
        found[1 + start.input] = gates.setdefault((_START, latches[start.latch]), 2 * next(fresh))
    for left, right in aig.gates:
        one, other = found[left >> 1] ^ (left & 1), found[right >> 1] ^ (right & 1)
        pair = (one, other) if one < other else (other, one)
        number = gates.get(pair)
        if number is None:
            number = gates[pair] = 2 * next(fresh)
        found.append(number)
    return found


def _slices(wide: Aig, places: Mapping[str, Sequence[Place]]) -> list[int] | None:
    """The slice of each latch, or None if an output depends on a bit of another slice than its own in any cycle."""
    slices: dict[Hashable, int] = {None: _NONE}

    def number_of(piece: Hashable) -> int:
        return slices.setdefault(piece, len(slices))

    inputs = [_NONE] * wide.inputs
    for port, bits in wide.input_bits.items():
        for bit, (_, piece) in zip(bits, places[port], strict=True):
            inputs[bit] = number_of(piece)
    latches = [_NONE] * len(wide.latches)
    while True:
        found = [_NONE, *inputs, *latches]
        for left, right in wide.gates:
            found.append(_joined(found[left >> 1], found[right >> 1]))
        following = [found[literal >> 1] for literal in wide.latches]
        if following == latches:
            break
        latches = following
        for start in wide.starts:
            inputs[start.input] = latches[start.latch]
    is_within = all(
        found[wide.outputs[at] >> 1] in (_NONE, number_of(piece))
        for port, bits in wide.output_bits.items()
        for at, (_, piece) in zip(bits, places[port], strict=True)
    )
    return latches if is_within else None


def _joined(one: int, other: int) -> int:
    if _NONE in (one, other):
        return one or other
    return one if one == other else _MIXED
