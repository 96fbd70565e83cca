# SPDX-License-Identifier: BSD-2-Clause
"""Output beats: those of the remover, by enumeration, and the last ones of decoders."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from support.cores import simulation_of
from support.tiers import tiered

from utf8fpga.hdl import CoreParameters, DecoderParameters, RemoverParameters
from utf8fpga.sim.beats import PLAIN, Beat, StreamOptions, beats_of
from utf8fpga.sim.simulation import Recorder


def packed(beats: Iterable[Beat], lanes: int) -> list[tuple[list[int], bool]]:
    """The output beats of a remover: symbols and `last`."""
    found: list[tuple[list[int], bool]] = []
    row: list[int] = []
    for slots, last in beats:
        row += [slot for slot in slots if slot is not None]
        if len(row) > lanes or (len(row) == lanes and not last):
            found.append((row[:lanes], False))
            row = row[lanes:]
        if last:
            found.append((row, True))
            row = []
    return found


PAUSES = StreamOptions((False, True), (True, False, False, True))


def output_beats(parameters: CoreParameters, beats: list[Beat], options: StreamOptions) -> list[Any]:
    """The symbols and `last` of each output beat."""
    simulation = simulation_of(parameters)
    found: list[tuple[list[int], bool]] = []

    class Record(Recorder):
        def received(self, payload: int, *_: int) -> None:
            found.append((simulation.read(payload), simulation.read.ends(payload)))

    simulation.simulator.run(iter(beats), options, Record(simulation.read))
    return found


@pytest.mark.parametrize(("lanes", "length"), tiered({"2": (2, 4), "3": (3, 3), "4": (4, 3)}, 2))
def test_every_short_sequence_of_beats(lanes: int, length: int) -> None:
    """All values of `keep` and `last` in each of some beats, then the end of the packet with a symbol or without."""
    kinds = list(product(range(1 << lanes), (False, True)))
    beats: list[Beat] = []
    for middle in product(kinds, repeat=length - 1):
        for keep, last in (*middle, (len(beats) % 2 * (1 << lanes) - len(beats) % 2, True)):
            slots = tuple((len(beats) + lane) % 256 if keep >> lane & 1 else None for lane in range(lanes))
            beats.append((slots, last))
    expected = packed(beats, lanes)
    for options in (PLAIN, PAUSES):
        assert output_beats(RemoverParameters(lanes=lanes), beats, options) == expected


CORES = {
    each.name: each for each in (DecoderParameters(), *(DecoderParameters(lanes=3, packed=p) for p in (False, True)))
}


@pytest.mark.parametrize("name", CORES)
def test_last_beat_has_a_word_if_the_last_beat_of_the_input_has_a_byte(name: str) -> None:
    texts = ["né".encode(), b"\xe2\x82", b"\xf0\x9f", b"A", b"\xff", "€uro 😀😀".encode(), b"\xc2\xc2\xc2a\xe1\x80\xc2"]
    beats = list(beats_of(texts, CORES[name].lanes))
    for options in (PLAIN, PAUSES):
        ends = [words for words, last in output_beats(CORES[name], beats, options) if last]
        assert len(ends) == len(texts)
        assert all(ends)
