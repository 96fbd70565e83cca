# SPDX-License-Identifier: BSD-2-Clause
"""Whether a circuit treats each bit of a word as a narrow circuit of its kind treats its only one.

A circuit that only moves words is proved with narrow words. What is proved holds for wide ones if two conditions hold,
which are seen in the structure of the graphs, without a search:

- unrolled over time, each output of the wide circuit is the same function as the corresponding output of the narrow
  one, up to which bit of the words it moves;
- an output that is bit n of a word depends on no other bit of a word than bits n, and an output that is not part of a
  word depends on no bit of a word.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import count

from utf8fpga.formal.aiger import Aig

__all__ = ["Place", "corresponds"]

Place = tuple[int, Hashable]
"""The position of the corresponding bit in a port of the narrow circuit, and the slice to which a bit belongs: None for
a bit that is not part of a word."""

_NONE, _MIXED = 0, -1


def corresponds(wide: Aig, narrow: Aig, places: Mapping[str, Sequence[Place]]) -> bool:
    """Whether each slice of a wide circuit is the narrow circuit.

    Args:
        wide, narrow: the circuits, with ports of the same names.
        places: by port of the wide circuit, one for each bit. A port that is not mentioned has no words.
    """
    all_places = {
        port: places.get(port, [(n, None) for n in range(len(bits))])
        for port, bits in {**wide.input_bits, **wide.output_bits}.items()
    }
    return _same_functions(wide, narrow, all_places) and _within_slices(wide, all_places)


def _same_functions(wide: Aig, narrow: Aig, places: Mapping[str, Sequence[Place]]) -> bool:
    """Refine a partition of the latches of both circuits until latches of a class are equal for ever.

    All latches start at 0. Two functions of a round are the same if their gates are, up to the order of two inputs.
    """
    fresh = count(1)
    leaves: dict[tuple[str, int], int] = {}

    def inputs_of(aig: Aig, positions: Mapping[str, Sequence[int]]) -> list[int]:
        found = [0] * aig.inputs
        for port, bits in aig.input_bits.items():
            for bit, position in zip(bits, positions[port], strict=True):
                if (port, position) not in leaves:
                    leaves[port, position] = next(fresh)
                found[bit] = leaves[port, position]
        return found

    wide_bits = {port: [position for position, _ in bits] for port, bits in places.items()}
    narrow_bits = {port: range(len(bits)) for port, bits in {**narrow.input_bits, **narrow.output_bits}.items()}
    graphs = [(wide, inputs_of(wide, wide_bits)), (narrow, inputs_of(narrow, narrow_bits))]
    start = next(fresh)
    latches = [[start] * len(aig.latches) for aig, _ in graphs]
    classes = 1
    while True:
        gates: dict[tuple[int, int], int] = {}
        following: dict[tuple[int, int], int] = {}
        refined, outputs = [], []
        for (aig, inputs), before in zip(graphs, latches, strict=True):
            # By variable twice the number of its function; its lowest bit is that of the literal.
            functions = [0, *(2 * number for number in inputs), *(2 * number for number in before)]
            for left, right in aig.gates:
                one, other = functions[left >> 1] ^ (left & 1), functions[right >> 1] ^ (right & 1)
                pair = (one, other) if one < other else (other, one)
                found = gates.get(pair)
                if found is None:
                    found = gates[pair] = 2 * next(fresh)
                functions.append(found)
            values = [functions[literal >> 1] ^ (literal & 1) for literal in aig.latches]
            refined.append([following.setdefault(pair, len(following)) for pair in zip(before, values, strict=True)])
            outputs.append([functions[literal >> 1] ^ (literal & 1) for literal in aig.outputs])
        if len(following) == classes:
            break
        classes = len(following)
        numbers = [next(fresh) for _ in range(classes)]
        latches = [[numbers[which] for which in each] for each in refined]
    return all(
        outputs[0][at] == outputs[1][narrow.output_bits[port][position]]
        for port, bits in wide.output_bits.items()
        for at, position in zip(bits, wide_bits[port], strict=True)
    )


def _within_slices(wide: Aig, places: Mapping[str, Sequence[Place]]) -> bool:
    """No output depends on a bit of another slice than its own, in any cycle."""
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
    return all(
        found[wide.outputs[at] >> 1] in (_NONE, number_of(piece))
        for port, bits in wide.output_bits.items()
        for at, (_, piece) in zip(bits, places[port], strict=True)
    )


def _joined(one: int, other: int) -> int:
    if _NONE in (one, other):
        return one or other
    return one if one == other else _MIXED
