# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a transcoder with one lane: its decoder and its encoder.

The decoder is a core, which is proved by itself. The encoder is proved behind any items that the decoder may output, by
`ItemEncoder`. Both are joined by a stream: what the one transfers, the other accepts in the same cycle. So the units at
the output are those of the items, and the items are those of the units at the input.

The decoder is compared, as RTLIL, with the one that is proved. That the transcoder connects both so is tested in
simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from amaranth.back import rtlil

from utf8fpga.formal.catalogue import Configuration
from utf8fpga.formal.drained_proof import prove_drained
from utf8fpga.formal.properties import Property
from utf8fpga.formal.transcoder_reference import ItemEncoder
from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.decoder.serial import SERIAL
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.transcoder.transcoder import Transcoder
from utf8fpga.model import EncodingTable
from utf8fpga.model.encodings import encoding_named

TRANSCODER_PROPERTIES = (Property.EQUIVALENCE, Property.POWER_UP, Property.STEADY, Property.INDEPENDENCE)
"""The properties of a transcoder. Its latency and its stalls are not proved."""


def decoder_configuration(transcoder: Transcoder) -> Configuration:
    """The decoder of a transcoder with one lane: it leaves the code points of ill-formed items undefined."""
    parameters = DecoderParameters(table=transcoder.decoder.table, optimize=transcoder.parameters.optimize)
    configuration = Configuration.of(parameters)
    return replace(
        configuration,
        name=f"{configuration.name}-no-replacement",
        build_from=partial(_without_replacement, parameters),
        verilog=False,
    )


def _without_replacement(parameters: DecoderParameters, table: EncodingTable) -> Any:
    decoder: Any = SERIAL[parameters.optimize](table, replacement=False)
    decoder.parameters = replace(parameters, table=table)
    return decoder


def is_same_decoder(transcoder: Transcoder) -> bool:
    """Whether the decoder is, line by line, the one that its parameters make, and of the table of the source."""
    if transcoder.decoder.table != encoding_named(transcoder.parameters.from_).table:
        return False
    ones = (transcoder.decoder, decoder_configuration(transcoder).build())
    first, second = (str(rtlil.convert(each, name="decoder", emit_src=False)) for each in ones)
    return first == second


def prove_encoder(
    build: Callable[[], Transcoder], wanted: Property, table: EncodingTable | None = None, *, seconds: int = 600
) -> tuple[bool | None, str]:
    """Prove a property of the encoder of a transcoder.

    Args:
        table: the table of the output that it is compared with; default: its own.
    """
    gapless = isinstance(build().encoder, UnitQueue)
    return prove_drained(lambda: ItemEncoder(build()), wanted, table, gapless=gapless, seconds=seconds)
