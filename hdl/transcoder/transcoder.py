# SPDX-License-Identifier: BSD-2-Clause
"""The transcoder: code units of one encoding in, code units of another one out, with U+FFFD for what is ill-formed."""

from __future__ import annotations

from amaranth.hdl import Value

from utf8fpga.hdl.beats import lanes_of, stage_ports
from utf8fpga.hdl.chain import Chain, Join
from utf8fpga.hdl.core import Stage
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.decoder.pipeline import PipelineStages
from utf8fpga.hdl.decoder.serial import SERIAL, SerialDecoder
from utf8fpga.hdl.encoder.encoder import in_byte_order, units_in_order
from utf8fpga.hdl.encoder.logic import EncoderLogic
from utf8fpga.hdl.encoder.parallel_encoder import ParallelEncoder, slots_for
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.parameters import DecoderParameters, TranscoderParameters
from utf8fpga.hdl.payloads import item_layout, unit_layout
from utf8fpga.model.encodings import Encoding, encoding_named


def _from_order(encoding: Encoding) -> Join:
    """Code units whose bytes are in the order of an encoding."""
    return Join(lambda unit, given: [Value.cast(unit).eq(in_byte_order(Value.cast(given), encoding))])


class Transcoder(Chain):
    """A decoder and an encoder, joined: one U+FFFD per maximal subpart (D93b), and one for each code point without
    a sequence in the form of the output.

    An item whose sequence has several units in the input occupies as many lanes, of which all but the last are empty.
    So its units get the output lanes of its last lane and of the lane before that, and an output beat has as many lanes
    as the text may grow, per input unit: one from UTF-8 to UTF-16, three from UTF-8 to UTF-8.

    Throughput: a beat per cycle; with one lane a unit per cycle, which is a beat per cycle as long as the text does not
    grow.

    Structure: a sparse decoder, and behind it a `ParallelEncoder`; with one lane a `UnitQueue`, unless it is optimised
    for speed.

    Attributes:
        decoder: the decoder.
        slots: output units per input unit, at most.

    Ports:
        input: stream of `beat_layout`, code units whose bytes are in the order of the encoding.
        output: stream of `beat_layout` with symbols of `unit_layout`, whose bytes are in the order of the encoding.
    """

    packed = True
    is_elaborated_backwards = True

    def __init__(self, parameters: TranscoderParameters) -> None:
        source, target, lanes = encoding_named(parameters.from_), encoding_named(parameters.to), parameters.lanes
        # With one lane it is smaller to make U+FFFD of ill-formed items in the encoder.
        replacement, table = lanes > 1, source.table
        decoder = DecoderParameters(table=table, lanes=lanes, packed=False, optimize=parameters.optimize)
        self.decoder: SerialDecoder | ParallelDecoder
        if lanes == 1:
            self.decoder = SERIAL[parameters.optimize](table, replacement=replacement)
        else:
            # Not all transcoders reach the clock with fewer stages.
            setting = "fastest" if parameters.optimize == "speed" else parameters.optimize
            self.decoder = ParallelDecoder(decoder, PipelineStages.of(table, lanes, setting))
        symbol = item_layout(table)
        logic = EncoderLogic.behind(table, target.table, marks=not replacement)
        self.slots = slots = slots_for(logic, table)
        self.encoder: UnitQueue | ParallelEncoder
        if lanes == 1 and parameters.optimize == "area":
            self.encoder = UnitQueue(logic, symbol, slots)
        else:
            # With fewer lanes a beat may have no item, and is not output by the decoder.
            collides = 1 < lanes < table.longest
            self.encoder = ParallelEncoder(logic, lanes, symbol, slots, collides=collides)
        stages: dict[str, Stage] = {"decoder": self.decoder, "encoder": self.encoder}
        joins = {"decoder": _from_order(source), "output": units_in_order(target)}
        units = unit_layout(target.table.unit_width)
        ports = stage_ports(table.unit_width, units, lanes, lanes_of(self.encoder.output))
        super().__init__(parameters, stages, ports, joins)
