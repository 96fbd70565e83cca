# SPDX-License-Identifier: BSD-2-Clause
"""Flags of each code unit that a tap has watched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from utf8fpga.hdl.minimise import Function
from utf8fpga.hdl.pipeline import Staged
from utf8fpga.hdl.validator.logic import ValidatorControl
from utf8fpga.hdl.validator.pipeline import any_of_all
from utf8fpga.model import EncodingTable

if TYPE_CHECKING:
    from utf8fpga.hdl.validator.tap import TapCircuit


def flags_layout(table: EncodingTable, lanes: int) -> data.StructLayout:
    """A beat with flags of its units, and of as many units before it as a sequence may have after its first one.

    Bit 0 of the first two fields belongs to the earliest of these units, and the highest bit to that in the last lane.

    Fields:
        ill_formed: the unit belongs to an ill-formed maximal subpart. Unless `ends` is set this may change with the
            next beats for units that no unit with `starts` follows.
        starts: the unit is the first one of an item, well-formed or not.
        units: by lane, the unit.
        present: by lane, whether there is a unit.
        ends: no sequence is open after the beat.
        last: the beat ends its packet.
    """
    units = lanes + table.longest - 1
    return data.StructLayout(
        {
            "ill_formed": units,
            "starts": units,
            "units": data.ArrayLayout(table.unit_width, lanes),
            "present": lanes,
            "ends": 1,
            "last": 1,
        }
    )


class UnitFlags:
    """The registers of these flags."""

    def __init__(self, circuit: TapCircuit, control: ValidatorControl, table: EncodingTable) -> None:
        pipeline, lanes, reach = circuit.pipeline, len(circuit.units), circuit.reach
        places = range(-reach, lanes)

        def bad(place: int) -> Staged:
            is_certain = -reach <= place < lanes - reach
            return circuit.bad[place + reach] if is_certain else circuit.is_bad(place, ends=True)

        bads = {place: bad(place) for place in range(-2 * reach, lanes)}

        def ill_formed(place: int) -> Staged:
            """A unit belongs to the item that starts at it, or as many places before it as its number says."""
            terms = [(circuit.at(units, place), bads[place - number + 1]) for number, units in circuit.members.items()]
            # The first term and the unit's own flag fit one look-up table.
            pairs = [(bads[place], *terms[0]), *terms[1:]]
            name = f"ill_formed_{place + reach}"
            parts = [pipeline.apply(f"{name}_{number}", _or_of_product, *pair) for number, pair in enumerate(pairs)]
            return any_of_all(pipeline, name, parts)

        opens = [
            pipeline.apply(
                "opens_1",
                lambda starts, unit: starts & control.serial.is_lead(unit),
                circuit.starts[-1],
                circuit.units[-1],
            ),
            *(
                pipeline.apply(
                    f"opens_{number}",
                    partial(_goes_on, control.longer_than(number)),
                    units[-1],
                    circuit.at(circuit.units, lanes - number),
                )
                for number, units in circuit.members.items()
                if number < table.longest
            ),
        ]
        is_open = any_of_all(pipeline, "open", opens)
        ends = pipeline.apply("ends", lambda is_open, last: ~is_open | last, is_open, pipeline.last)
        fields: dict[str, Sequence[Staged]] = {
            "ill_formed": [ill_formed(place) for place in places],
            "starts": [circuit.at(circuit.starts, place, of_packet=True) for place in places],
            "units": circuit.units,
            "present": circuit.keep,
            "ends": [ends],
            "last": [pipeline.last],
        }
        self.stage = max(bit.stage for bits in fields.values() for bit in bits)
        self.strobe = pipeline.strobes(self.stage, pipeline.valid.value, "arrives")[-1]
        self._bits = {name: Cat(*(pipeline.at(bit, self.stage) for bit in bits)) for name, bits in fields.items()}

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        """The fields with their values."""
        return iter(self._bits.items())


def _goes_on(longer: Function, member: Value, lead: Value) -> Value:
    return member & longer(lead)


def _or_of_product(*bits: Value) -> Value:
    """The product of the last two, or the one before them."""
    *alone, member, bad = bits
    return (member & bad) | Cat(*alone).any()
