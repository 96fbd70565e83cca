# SPDX-License-Identifier: BSD-2-Clause
"""Decoders of one architecture, whatever the defaults are, and what they output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from utf8fpga.hdl import DecoderParameters, ParallelDecoder, Word
from utf8fpga.hdl.decoder.pipeline import PipelineStages, stages_of
from utf8fpga.model import TABLE_3_7, EncodingTable, decode


def words(text: Iterable[int], table: EncodingTable = TABLE_3_7) -> list[Word]:
    """The items of the model as the words of a decoder with causes."""
    return [Word(item.code_point, item.error) for item in decode(text, table)]


def sparse_decoder(table: EncodingTable = TABLE_3_7, *, fastest: bool = False, **parameters: Any) -> ParallelDecoder:
    """The parallel decoder, without a packer; with the most register stages, as in a transcoder, if `fastest`."""
    given = DecoderParameters(table=table, packed=False, **parameters)
    stages = PipelineStages.of(table, given.lanes, "fastest") if fastest else stages_of(given)
    return ParallelDecoder(given, stages)
