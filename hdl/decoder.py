# SPDX-License-Identifier: BSD-2-Clause
"""One name for all decoders: the parameters pick the architecture."""

from __future__ import annotations

from typing import TypeAlias

from utf8fpga.hdl.marks import PracticeDecoder
from utf8fpga.hdl.packer import PackedDecoder
from utf8fpga.hdl.parallel import MAX_LANES, ParallelDecoder
from utf8fpga.hdl.serial import SerialDecoder
from utf8fpga.model import TABLE_3_7, EncodingTable

__all__ = ["ARCHITECTURES", "AnyDecoder", "Decoder"]

ARCHITECTURES = ("serial", "parallel")
"""A state machine, one unit a clock; or a sliding window over several."""

AnyDecoder: TypeAlias = SerialDecoder | PracticeDecoder | ParallelDecoder | PackedDecoder
"""Any of the decoders."""


def Decoder(  # noqa: N802 - it stands where the class of a decoder would
    table: EncodingTable = TABLE_3_7,
    *,
    lanes: int = 1,
    architecture: str | None = None,
    pipeline: int | None = None,
    packed: bool = False,
    buffer: str | None = None,
    replacement: bool = True,
    kind: bool = False,
    length: bool = False,
) -> SerialDecoder | ParallelDecoder | PackedDecoder:
    """The decoder for these parameters.

    Args:
        table: the encoding form; UTF-8 unless given.
        lanes: code units a beat, 1 to `MAX_LANES`.
        architecture: one of `ARCHITECTURES`; serial for one lane and parallel for more if None.
        pipeline: the decoder's own setting; if None 0 for the serial one and the fastest for the parallel one.
        packed: the words of a beat are contiguous from word 0; one lane always is.
        buffer: see `ParallelDecoder`.
        replacement: see `SerialDecoder`.
        kind: see `SerialDecoder`.
        length: see `SerialDecoder`.

    Raises:
        ValueError: a parameter is out of range, or some do not go together.
        TableError: the table is not of a kind that this architecture is made for.

    >>> type(Decoder()).__name__, type(Decoder(lanes=8)).__name__, type(Decoder(lanes=8, packed=True)).__name__
    ('SerialDecoder', 'ParallelDecoder', 'PackedDecoder')
    """
    if not 1 <= lanes <= MAX_LANES:
        raise ValueError(f"lanes {lanes} is not in 1..{MAX_LANES}")
    chosen = architecture or ("serial" if lanes == 1 else "parallel")
    if chosen not in ARCHITECTURES:
        raise ValueError(f"architecture {chosen!r} is not one of {', '.join(ARCHITECTURES)}")
    if chosen == "serial":
        if lanes != 1:
            raise ValueError(f"a serial decoder takes one code unit a clock, not {lanes}: use architecture parallel")
        if buffer is not None:
            raise ValueError(f"a serial decoder needs no buffer, so not one of {buffer!r}")
        return SerialDecoder(table, pipeline=pipeline or 0, replacement=replacement, kind=kind, length=length)
    decoder = PackedDecoder if packed and lanes > 1 else ParallelDecoder
    return decoder(
        table, lanes=lanes, pipeline=pipeline, buffer=buffer, replacement=replacement, kind=kind, length=length
    )
