# SPDX-License-Identifier: BSD-2-Clause
"""The summary of a beat: what it counts, and its first error."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.items import Items
from utf8fpga.hdl.payloads import Kind
from utf8fpga.hdl.registers import delayed

COUNTS = ("errors", "units", "code_points")

INPUTS = ("present", "items", "errors", "kinds", "backs", "ends", "leaves")
"""What the summary needs of the outputs of `Items`."""


def group_layout(lanes: int, back_bits: int) -> data.StructLayout:
    """A group of neighbouring lanes, as many as a power of two.

    Fields:
        errors: ill-formed items that end in these lanes.
        units: code units in them.
        code_points: items that end in them, well-formed or not.
        any_error: `errors` is not 0.
        place: the lane in which the first ill-formed item ends, counted from the first lane of the group.
        back: the units of that item in front of its last one.
        kind: the cause of its error.
    """
    place_bits = (lanes - 1).bit_length()
    counts = dict.fromkeys(COUNTS, place_bits + 1)
    return data.StructLayout({**counts, "any_error": 1, "place": place_bits, "back": back_bits, "kind": Kind})


class BeatSummary(wiring.Component):
    """A tree over the lanes of a beat, in which each group of lanes is the sum of two smaller ones.

    Counts are added. The first error is that of the left group, if that has one.

    Throughput: a beat per cycle. Latency: `latency` cycles, one for each level of the tree. A reset discards the beats
    inside.

    Args:
        items: the items of the beats.

    Ports:
        present, items, errors, kinds, backs, ends, leaves: a beat, as `Items` has it.
        group: all lanes of the beat.
        last: the packet ends with the beat.
        valid: there is a beat.
    """

    def __init__(self, items: Items) -> None:
        self.lanes, self._back_bits = items.lanes, items.backs.shape().elem_shape
        self.levels = (items.lanes - 1).bit_length()
        self.latency = max(0, self.levels - 1)
        given = {name: In(items.signature.members[name].shape) for name in INPUTS}
        group = group_layout(1 << self.levels, self._back_bits)
        super().__init__(given | {"group": Out(group), "last": Out(1), "valid": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        groups: list[dict[str, Value]] = [
            {
                "errors": self.errors[lane],
                "units": self.present[lane],
                "code_points": self.items[lane],
                "any_error": self.errors[lane],
                "place": Const(0, 0),
                "back": self.backs[lane],
                "kind": Value.cast(self.kinds[lane]),
            }
            for lane in range(self.lanes)
        ]
        valid, last = self.leaves, self.ends
        for level in range(1, self.levels + 1):
            pairs = [groups[lane : lane + 2] for lane in range(0, len(groups), 2)]
            groups = [self._joined(m, pair, level, number) for number, pair in enumerate(pairs)]
            if level > 1:
                valid = delayed(m, valid, f"valid_{level}", reset_less=False)
                last = delayed(m, last, f"last_{level}")
        m.d.comb += [Value.cast(self.group[name]).eq(value) for name, value in groups[0].items()]
        m.d.comb += [self.valid.eq(valid), self.last.eq(last)]
        return m

    def _joined(self, m: Module, pair: list[dict[str, Value]], level: int, number: int) -> dict[str, Value]:
        """The group of two neighbouring ones, or of one at the right edge."""
        layout = group_layout(1 << level, self._back_bits)
        group = Signal(layout, name=f"group_{1 << level}_{number}", reset_less=True)
        joined = left = pair[0]
        if len(pair) > 1:
            right = pair[1]
            joined = {name: left[name] + right[name] for name in COUNTS}
            joined["any_error"] = left["any_error"] | right["any_error"]
            joined["place"] = Mux(left["any_error"], left["place"], Cat(right["place"], Const(1, 1)))
            joined |= {name: Mux(left["any_error"], left[name], right[name]) for name in ("back", "kind")}
        fields = {str(name): Value.cast(group[name]) for name, _ in layout}
        domain = m.d.comb if level == 1 else m.d.sync
        domain += [fields[name].eq(value) for name, value in joined.items()]
        return fields
