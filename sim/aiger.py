# SPDX-License-Identifier: BSD-2-Clause
"""Files in the AIGER format, as Yosys writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass
class Aiger:
    """An and-inverter graph as AIGER has it; all latches start at 0.

    Literal 2n is variable n, 2n + 1 its inverse, 0 is false. Inputs, then latches, then gates are
    numbered from 1.

    Attributes:
        inputs: the number of inputs.
        latches: for each latch the literal of its next value.
        outputs: for each output its literal.
        gates: for each gate the literals of its two operands.
        input_bits: for each port the numbers of the inputs that are its bits.
        output_bits: for each port the numbers of the outputs that are its bits.
        packed: the gates in the encoding of the file.
    """

    inputs: int
    latches: list[int]
    outputs: list[int]
    gates: list[tuple[int, int]]
    input_bits: dict[str, list[int]]
    output_bits: dict[str, list[int]]
    packed: bytes = field(repr=False)


class _Reader:
    """The numbers in a binary AIGER file, one after another."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data, self.place = data, place

    def line(self) -> int:
        """The first number in the next line."""
        end = self._data.index(b"\n", self.place)
        number = int(self._data[self.place : end].split()[0])
        self.place = end + 1
        return number

    def delta(self) -> int:
        """The next difference of two literals: seven bits in each byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self._data[self.place]
            self.place += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7


def read_aiger(data: bytes) -> Aiger:
    """The graph in a binary AIGER file, with the names of its ports."""
    header = data.split(b"\n", 1)[0]
    _, inputs, latches, outputs, gates = (int(word) for word in header.split()[1:6])
    reader = _Reader(data, len(header) + 1)
    following = [reader.line() for _ in range(latches)]
    literals = [reader.line() for _ in range(outputs)]
    start, pairs = reader.place, []
    for number in range(gates):
        left = 2 * (1 + inputs + latches + number) - reader.delta()
        pairs.append((left, left - reader.delta()))
    ports: dict[str, dict[str, dict[int, int]]] = {"i": {}, "o": {}}
    for line in data[reader.place :].split(b"\nc\n")[0].decode().splitlines():
        if found := re.fullmatch(r"([io])(\d+) (.*?)(?:\[(\d+)\])?", line):
            ports[found[1]].setdefault(found[3], {})[int(found[4] or 0)] = int(found[2])
    input_bits, output_bits = (
        {name: [bits[bit] for bit in sorted(bits)] for name, bits in ports[kind].items()} for kind in "io"
    )
    return Aiger(inputs, following, literals, pairs, input_bits, output_bits, data[start : reader.place])
