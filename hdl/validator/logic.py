# SPDX-License-Identifier: BSD-2-Clause
"""The functions of a validator, derived from the rows of its table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from utf8fpga.hdl.decoder.window_logic import WindowControl
from utf8fpga.hdl.minimise import LUT_INPUTS, Function, Network, Word, decompose, minimised, minimised_word
from utf8fpga.model import ErrorKind, TableError, cause, spell
from utf8fpga.model.errors import representatives

_IS_DEFINITE, _GOES_ON = 1, 2


@dataclass(frozen=True)
class ValidatorControl(WindowControl):
    """The functions of one table, in addition to those of the sliding window."""

    @property
    def _length_of(self) -> dict[int, int]:
        """By lead the length of its sequences."""
        serial = self.serial
        return {unit: serial.dfa.states[state].remaining[0] + 1 for unit, state in serial.leads.items()}

    def longer_than(self, length: int) -> Function:
        """Of the lead of a sequence of at least `length` units: it has more."""
        leads = {unit: found > length for unit, found in self._length_of.items() if found >= length}
        return minimised(leads, self.table.unit_width)

    @cached_property
    def precedes(self) -> Function:
        """A bit that all units have that another one of their sequence follows, and no whole sequence has; 1 if there
        is none."""
        serial = self.serial
        found = serial.of_unit(serial.leads.keys() | serial.trails, serial.singles)
        return found if found.support.bit_count() == 1 else Function(((0, 0),))

    @cached_property
    def lead_network(self) -> Network:
        """The unit is the first one of sequences of several units, if the unit `precedes` others.

        The last gate has at most two inputs.
        """
        leads = self.serial.leads.keys()
        others = [unit for unit in self.serial.units - leads if self.precedes.compute(unit)]
        return decompose(leads, others, self.table.unit_width, last=LUT_INPUTS - 2)

    @cached_property
    def _restricting(self) -> dict[int, frozenset[int]]:
        """By lead that does not allow all units that may continue a sequence: those that it allows."""
        serial = self.serial
        allowed = {unit: serial.allowed[state] for unit, state in serial.leads.items()}
        return {unit: found for unit, found in allowed.items() if found != serial.trails}

    @cached_property
    def restricts(self) -> Network:
        """Of a lead: it does not allow all units that may continue a sequence.

        The last gate has at most three inputs.
        """
        on = self._restricting.keys()
        return decompose(on, self.serial.leads.keys() - on, self.table.unit_width, last=LUT_INPUTS - 1)

    @cached_property
    def fits(self) -> Network:
        """Of a unit that may continue a sequence and, above its bits, a lead that `restricts`: the lead allows it.

        The last gate has one input.
        """
        width, trails = self.table.unit_width, self.serial.trails
        sides: tuple[list[int], list[int]] = [], []
        for lead, allowed in self._restricting.items():
            for trail in trails:
                sides[trail in allowed].append(trail | lead << width)
        return decompose(sides[True], sides[False], 2 * width, last=1)

    @cached_property
    def kind(self) -> Word:
        """The bits of the cause of an error, as functions of a word.

        From bit 0 the word is the first unit of the ill-formed item; whether the item is ill-formed whatever follows
        it, which is so if its unit is no lead, or the next unit can only continue a sequence, but not this one; and
        whether another item starts after it in the packet.

        Raises:
            TableError: the cause depends on more.
        """
        width = self.table.unit_width
        found: dict[int, ErrorKind] = {}
        serial = self.serial

        def note(unit: int, follows: int, kind: ErrorKind) -> None:
            if found.setdefault(unit | follows << width, kind) is not kind:
                raise TableError(
                    f"{self.table.name}: the cause of an error after {spell([unit], width)} depends on more than the "
                    f"next unit"
                )

        for unit in sorted(serial.units - serial.allowed[0]):
            for follows in (_IS_DEFINITE, _IS_DEFINITE | _GOES_ON):
                note(unit, follows, cause(self.table, [unit], None))
        for unit, state in serial.leads.items():
            for following in sorted(serial.units - serial.allowed[state]):
                stray = following in serial.trails
                note(unit, _GOES_ON | (_IS_DEFINITE if stray else 0), cause(self.table, [unit], following))
            note(unit, 0, cause(self.table, [unit], None))
        for subpart, state in representatives(self.table):
            if len(subpart) > 1:
                note(subpart[0], 0, cause(self.table, subpart, None))
                for following in sorted(serial.units - serial.allowed[state]):
                    note(subpart[0], _GOES_ON, cause(self.table, subpart, following))
        return minimised_word(found, max(ErrorKind).bit_length(), width + 2)

    @cached_property
    def kind_support(self) -> tuple[int, ...]:
        """The bits of the word that `kind` depends on."""
        support = 0
        for function in self.kind:
            support |= function.support
        return tuple(bit for bit in range(support.bit_length()) if support >> bit & 1)
