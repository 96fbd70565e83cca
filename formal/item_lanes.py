# SPDX-License-Identifier: BSD-2-Clause
"""In which lanes a sparse decoder outputs items, of which an encoder behind it makes use.

The proof of a sparse decoder says that each lane is that of the reference, `Slot`. So what follows is a claim about the
reference of adjacent lanes, with any units:

- the lane before an item whose sequence is well-formed and has several units is empty, and of the same packet;
- of as many lanes in a row of one packet as the longest sequence has units, one has an item. So a decoder with as many
  lanes drops no beat but null beats, and the lane before the first one is the last one of the beat before.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value

from utf8fpga.formal.cycles import Cycles, entailed
from utf8fpga.formal.reference_dfa import Slot
from utf8fpga.formal.stages_proof import needs_two_lanes
from utf8fpga.formal.top import Top
from utf8fpga.model import EncodingTable


class ItemLanes(Top):
    """The reference of adjacent lanes.

    Attributes:
        units, begins: inputs with arbitrary values: units, and whether each is the first one of its packet.
    """

    def __init__(self, table: EncodingTable) -> None:
        super().__init__()
        self._table = table
        count = 2 * table.longest
        self.wrong = Signal(2, name="wrong")
        self.units = [Signal(table.unit_width, name=f"unit_{n}") for n in range(count)]
        self.begins = Signal(count, name="begins")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.clocked(m)
        longest = self._table.longest
        slots = [self._slot(m, at) for at in range(longest - 1, 2 * longest - 1)]
        begins = self.begins[longest : 2 * longest - 1]
        together = [
            slot.valid & needs_two_lanes(slot.word, self._table) & (earlier.valid | begin)
            for earlier, slot, begin in zip(slots, slots[1:], begins, strict=False)
        ]
        none = ~begins.any() & ~Cat(slot.valid for slot in slots).any()
        m.d.comb += self.wrong.eq(Cat(Cat(*together, Const(0, 1)).any(), none))
        return m

    def _slot(self, m: Module, at: int) -> Slot:
        """The item of a unit; the units before are of its packet if none after them begins one."""
        before: list[tuple[Value, Value]] = [
            (self.units[n], ~self.begins[n + 1 : at + 1].any()) for n in range(at - self._table.longest + 1, at)
        ]
        after = self.units[at + 1], ~self.begins[at + 1]
        return Slot(m, self._table, before, (self.units[at], Const(1, 1)), after)


def prove_item_lanes(table: EncodingTable, *, seconds: int = 600) -> tuple[bool | None, str]:
    """Prove the claims for a table: the answer of `entailed`, and what does not hold."""
    aig = ItemLanes(table).graph()
    cycles = Cycles(aig, [{}])
    names = ("an item in the lane before", "lanes without an item")
    claims = {name: [cycles.outputs[0][at] ^ 1] for name, at in zip(names, aig.output_bits["wrong"], strict=True)}
    return entailed(cycles.gates, [], claims, seconds=seconds)
