# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a transcoder with one lane: its decoder, its encoder, and that it is nothing but these two.

The decoder is a core, which is proved by itself. The encoder is proved behind any items that the decoder may output, by
`ItemEncoder`. Both are joined by a stream: what the one transfers, the other accepts in the same cycle. So the units at
the output are those of the items, and the items are those of the units at the input.

Whether the transcoder connects them so is asked of its graph; and the decoder is compared, as RTLIL, with the one that
is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Value

from utf8fpga.formal.aiger import aig_of
from utf8fpga.formal.drained_proof import prove_drained
from utf8fpga.formal.joints import Joints
from utf8fpga.formal.properties import Property
from utf8fpga.formal.transcoder_reference import ItemEncoder
from utf8fpga.hdl import parameters_of
from utf8fpga.hdl.encoder.encoder import in_byte_order
from utf8fpga.hdl.transcoder.transcoder import Transcoder, source_table
from utf8fpga.model import EncodingTable

__all__ = ["TRANSCODER_PROPERTIES", "TranscoderJoints", "is_joined", "is_same_decoder", "prove_encoder"]

TRANSCODER_PROPERTIES = (Property.EQUIVALENCE, Property.POWER_UP, Property.STEADY, Property.INDEPENDENCE)
"""The properties of a transcoder. Its latency and its stalls are not proved."""


class TranscoderJoints(Joints):
    """Whether a transcoder connects its decoder, its encoder and its ports as the proof assumes.

    Args:
        core: the transcoder, with a decoder and one lane.
    """

    def connected(self) -> list[tuple[Any, Any]]:
        transcoder = self.core
        source, output = transcoder.input, transcoder.output
        decoder, encoder = transcoder.decoder, transcoder.encoder
        unit, made = source.payload.symbols[0], encoder.output.payload.symbols[0]
        return [
            (decoder.input.valid, source.valid),
            (source.ready, decoder.input.ready),
            (decoder.input.payload.keep, source.payload.keep),
            (decoder.input.payload.last, source.payload.last),
            (decoder.input.payload.symbols[0], in_byte_order(Value.cast(unit), transcoder.source)),
            (encoder.input.valid, decoder.output.valid),
            (encoder.input.payload, decoder.output.payload),
            (decoder.output.ready, encoder.input.ready),
            (output.valid, encoder.output.valid),
            (output.payload.keep, encoder.output.payload.keep),
            (output.payload.last, encoder.output.payload.last),
            (output.payload.symbols[0].unit, in_byte_order(made.unit, transcoder.target)),
            (output.payload.symbols[0].error, made.error),
            (encoder.output.ready, output.ready),
        ]


def is_joined(transcoder: Transcoder) -> tuple[bool, bool]:
    """Whether a transcoder is nothing but its decoder and its encoder, and whether its output depends on `ready`.

    Wires are equal by structure: the graph of their comparison is the constant 0, without a search.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    proof = TranscoderJoints(transcoder)
    aig = aig_of(str(rtlil.convert(proof, name="top", ports=proof.ports, emit_src=False)), free=True)
    dependent = bool(aig.fan_in(aig.output_bits["shown"]) & set(aig.input_bits["ready"]))
    return aig.outputs[aig.output_bits["bad"][0]] == 0, dependent


def is_same_decoder(transcoder: Transcoder) -> bool:
    """Whether the decoder is, line by line, the one that its parameters make, and of the table of the source."""
    if transcoder.decoder.table != source_table(transcoder.source):
        return False
    ones = (transcoder.decoder, parameters_of(transcoder.decoder).build())
    first, second = (str(rtlil.convert(each, name="decoder", emit_src=False)) for each in ones)
    return first == second


def prove_encoder(
    build: Callable[[], Transcoder], wanted: Property, table: EncodingTable | None = None, *, seconds: int = 600
) -> tuple[bool | None, str]:
    """Prove a property of the encoder of a transcoder.

    Args:
        build: makes the transcoder.
        wanted: see `prove_drained`.
        table: the table of the output that it is compared with; default: its own.
        seconds: limit, see `entailed`.

    Raises:
        ToolError: see `prove_drained`.
    """
    return prove_drained(lambda: ItemEncoder(build()), wanted, table, gapless=True, seconds=seconds)
