# SPDX-License-Identifier: BSD-2-Clause
"""Circuits as and-inverter graphs, in the AIGER format as Yosys writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import BytesIO

CELLS = {
    # Reading its single-port RAM, unless it is used, would take a minute.
    "ice40": "delete =A:blackbox; read_verilog -defer +/ice40/cells_sim.v",
    "ecp5": "delete =A:blackbox; read_verilog -overwrite +/ecp5/cells_sim.v",
}
"""The FPGA families whose netlists are simulated and proved, and the commands of Yosys that read their cells."""


@dataclass
class Aig:
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
        core: the latches of the submodule ``dut``, if there is one.
    """

    inputs: int
    latches: list[int]
    outputs: list[int]
    gates: list[tuple[int, int]]
    input_bits: dict[str, list[int]]
    output_bits: dict[str, list[int]]
    packed: bytes = field(repr=False)
    core: set[int] = field(default_factory=set, repr=False)


def read_aig(data: bytes) -> Aig:
    """The graph in a binary AIGER file, with the names of its ports."""
    file = BytesIO(data)
    inputs, latches, outputs, gates = (int(word) for word in file.readline().split()[2:6])
    following = [int(file.readline().split()[0]) for _ in range(latches)]
    literals = [int(file.readline()) for _ in range(outputs)]
    start, pairs = file.tell(), []
    for number in range(gates):
        left = 2 * (1 + inputs + latches + number) - _delta(file)
        pairs.append((left, left - _delta(file)))
    packed = data[start : file.tell()]
    ports: dict[str, dict[str, dict[int, int]]] = {"i": {}, "o": {}}
    for line in file.read().split(b"\nc\n")[0].decode().splitlines():
        if found := re.fullmatch(r"([io])(\d+) (.*?)(?:\[(\d+)\])?", line):
            ports[found[1]].setdefault(found[3], {})[int(found[4] or 0)] = int(found[2])
    input_bits, output_bits = (
        {name: [bits[bit] for bit in sorted(bits)] for name, bits in ports[kind].items()} for kind in "io"
    )
    return Aig(inputs, following, literals, pairs, input_bits, output_bits, packed)


def _delta(file: BytesIO) -> int:
    """The next difference of two literals: seven bits in each byte, the lowest first."""
    value = shift = 0
    while (byte := file.read(1)[0]) >= 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
    return value | byte << shift
