# SPDX-License-Identifier: BSD-2-Clause
"""The invariant of a core with a `UnitMarker`: its open sequence is that of the reference, and all others are whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from amaranth.hdl import Array, Cat, Const, Mux, Value

from utf8fpga.formal.helpers import how_many
from utf8fpga.formal.reference_dfa import Reference
from utf8fpga.hdl.decoder.each_unit import MarkedDecoder, UnitMarker
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.model import DFA, START, Range


def is_consistent(marker: UnitMarker, reference: Reference, decoder: MarkedDecoder | None = None) -> Value:
    """Whether the registers are in a state that can occur, as far as a drain does not show them.

    Args:
        decoder: the decoder behind it; default: none.
    """
    claims = [*_open_sequence(reference), *_open_entries(marker, reference)]
    if decoder is not None:
        claims += _whole_sequences(marker, decoder)
    return Cat(*claims).all()


def _open_sequence(reference: Reference) -> Iterator[Value]:
    """The units of the reference lead to its state."""
    table, dfa, ways = reference.table, DFA.of(reference.table), [(reference.state == START) & (reference.count == 0)]
    for row in table.rows:
        for count in range(1, len(row.units)):
            ranges = row.units[:count]
            (state,) = {_follow(dfa, units) for units in product(*((each.first, each.last) for each in ranges))}
            inside = [_inside(unit, each) for unit, each in zip(reference.open_units, ranges, strict=False)]
            ways.append((reference.state == state) & (reference.count == count) & Cat(*inside).all())
    yield Cat(*ways).any()


def _follow(dfa: DFA, units: Iterable[int]) -> int:
    state = START
    for unit in units:
        state = dfa.step(state, unit)
    return state


def _open_entries(marker: UnitMarker, reference: Reference) -> Iterator[Value]:
    """The last entries, and the registers of the control, are those of the open sequence of the reference."""
    control, states = SerialControl.of(marker.table), DFA.of(marker.table).states
    valid, is_open, entries = marker.valid, marker.valid & marker.is_open, marker.entries
    units = Array(reference.open_units)
    yield (~valid[1:] | valid[:-1]).all()
    yield how_many(is_open) == reference.count
    for n, entry in enumerate(entries):
        place = how_many(is_open[:n])
        is_kept = entry.keep & ~entry.last & marker.errors[n] & (entry.unit == units[place])
        yield ~is_open[n] | (is_kept & (is_open[n + 1 :] == valid[n + 1 :]).all())
        # No null beat is entered.
        yield ~valid[n] | entry.keep | (entry.last & ~marker.errors[n])
    for number, state in enumerate(states):
        needed = Const((1 << state.remaining[0]) - 1, len(marker.remaining)) if number else 0
        there = marker.remaining == needed
        if number:
            there &= marker.code == control.code_of(number)
        yield (reference.state != number) | there
    first = reference.open_units[0]
    yield (reference.count != 1) | (marker.lead == first[: len(marker.lead)])


def _whole_sequences(marker: UnitMarker, decoder: MarkedDecoder) -> Iterator[Value]:
    """The sequence in the decoder and the entries that are not open are whole sequences."""
    table = marker.table
    leads = {length: [row.units[0] for row in table.rows if len(row.units) > length] for length in range(table.longest)}
    needed: Value = decoder.remaining
    yield (~needed[1:] | needed[:-1]).all()
    for n, entry in enumerate(marker.entries):
        is_here, unit = marker.valid[n] & ~marker.is_open[n], entry.unit
        is_item = entry.keep & ~marker.errors[n]
        is_trail = _any(unit, (each for row in table.rows for each in row.units[1:]))
        starts = Cat(_any(unit, leads[length]) for length in range(1, table.longest))
        yield ~is_here | Mux(is_item & needed[0], is_trail, ~needed[0])
        yield ~is_here | ~is_item | needed[0] | _any(unit, leads[0])
        needed = Mux(is_here, Mux(is_item, Mux(needed[0], needed >> 1, starts), 0), needed)
        yield ~is_here | ~entry.last | ~needed[0]
    yield ~needed[0]


def _any(unit: Value, ranges: Iterable[Range]) -> Value:
    return Cat(_inside(unit, each) for each in ranges).any()


def _inside(unit: Value, allowed: Range) -> Value:
    return (unit >= allowed.first) & (unit <= allowed.last)
