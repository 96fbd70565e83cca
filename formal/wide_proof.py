# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of encoders and transcoders with several lanes and packed output beats, by their parts.

The parts, in the order in which a text passes them, what is proved of each, and what that assumes:

- a sparse decoder (transcoders only), a core that is proved by itself: the items of each beat, in their lanes;
- the lanes of its items, see `item_lanes`: the lane before an item that needs two is empty. It assumes that each lane
  is that of the reference, which is what the proof of the decoder says;
- `EncoderStages`, see `stages_proof`: the units of each beat, in their lanes. It assumes of the beats that lanes which
  items need are empty, and, in front of a packer with `ahead`, that there is none in the cycle after a reset;
- a `Packer`, see `packer_proof`: the units in order. It assumes nothing of the lanes; with `ahead`, that there is a
  beat so many cycles after one was accepted, or one cycle earlier if the stages may lend units. That is the claim of
  the stages about `valid`.

Here it is checked that the core connects these parts, and nothing else, and that the parameters of each are those for
which the next one is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Const, Module, Signal, Value

from utf8fpga.formal.aiger import aig_of
from utf8fpga.formal.cycles import Cycles, entailed
from utf8fpga.formal.encoder_reference import EncoderReference
from utf8fpga.formal.item_lanes import prove_item_lanes
from utf8fpga.formal.joints import Joints
from utf8fpga.formal.properties import Property
from utf8fpga.formal.stages_proof import prove_stages
from utf8fpga.hdl import Encoder, Packer
from utf8fpga.hdl.beats import is_effective
from utf8fpga.hdl.encoder.encoder import in_byte_order
from utf8fpga.hdl.encoder.parallel_encoder import ParallelEncoder
from utf8fpga.hdl.encoder.stages import EncoderStages
from utf8fpga.hdl.transcoder.transcoder import Transcoder, source_table
from utf8fpga.model import EncodingTable

__all__ = ["WideJoints", "is_wide", "prove_joints", "prove_units"]


def is_wide(core: Any) -> bool:
    """Whether the output of an encoder or of a transcoder is that of a packer behind `EncoderStages`."""
    encoder = core.encoder
    return isinstance(encoder, ParallelEncoder) and encoder.packer is not None and encoder.narrower is None


class WideJoints(Joints):
    """Whether a core connects its parts and its ports as the proofs assume.

    Args:
        core: an encoder, or a transcoder with a decoder, see `is_wide`.

    Attributes:
        accepts: `ready` of the stages' producer.
    """

    def __init__(self, core: Encoder | Transcoder) -> None:
        super().__init__(core)
        self.accepts = Signal(name="accepts")

    @property
    def ports(self) -> list[Signal]:
        return [*super().ports, self.accepts]

    def connected(self) -> list[tuple[Any, Any]]:
        return [*self._items(), *self._units()]

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.accepts.eq(self.core.encoder.input.ready)
        return m

    def _items(self) -> list[tuple[Any, Any]]:
        """Up to the input of the `ParallelEncoder`."""
        core, source = self.core, self.core.input
        items = core.encoder.input
        if isinstance(core, Encoder):
            return [
                (items.payload, source.payload),
                (items.valid, is_effective(source)),
                (source.ready, items.ready),
            ]
        given, made = core.decoder.input, core.decoder.output
        return [
            (given.valid, source.valid),
            (source.ready, given.ready),
            (given.payload.keep, source.payload.keep),
            (given.payload.last, source.payload.last),
            *(
                (given.payload.symbols[lane], in_byte_order(Value.cast(source.payload.symbols[lane]), core.source))
                for lane in range(core.lanes)
            ),
            (items.valid, made.valid),
            (items.payload, made.payload),
            (made.ready, items.ready),
        ]

    def _units(self) -> list[tuple[Any, Any]]:
        """From there to the output."""
        core, output = self.core, self.core.output
        encoder = core.encoder
        assert isinstance(encoder, ParallelEncoder)
        stages, packer, items = encoder.stages, encoder.packer, encoder.input
        assert packer is not None
        target = core.encoding if isinstance(core, Encoder) else core.target
        sparse, packed = packer.sparse, packer.packed
        run, accepted, ready = (
            (sparse.ready.replicate(len(stages.run)), items.valid, stages.input.ready)
            if encoder.pauses
            else (Const(1, 1).replicate(len(stages.run)), items.valid & sparse.ready, sparse.ready)
        )
        return [
            (stages.input.payload, items.payload),
            (stages.input.valid, accepted),
            (items.ready, ready),
            (stages.run, run),
            (sparse.payload, stages.entry),
            (sparse.valid, stages.entry_valid),
            (output.valid, packed.valid),
            (output.payload.keep, packed.payload.keep),
            (output.payload.last, packed.payload.last),
            *(
                pair
                for lane in range(packer.lanes)
                for pair in (
                    (
                        output.payload.symbols[lane].unit,
                        in_byte_order(packed.payload.symbols[lane].unit, target),
                    ),
                    (output.payload.symbols[lane].error, packed.payload.symbols[lane].error),
                )
            ),
            (packed.ready, output.ready),
        ]


def prove_joints(core: Encoder | Transcoder) -> tuple[bool, bool]:
    """Whether a core is its parts, joined as the proofs assume, and whether its output depends on `ready`.

    Wires are equal by structure: the graph of their comparison is the constant 0, without a search.

    Args:
        core: the core, which is used up.

    Raises:
        ToolError: Yosys is missing or failed.
        SolverMissingError: python-sat is not installed.
    """
    encoder = core.encoder
    assert isinstance(encoder, ParallelEncoder)
    stages, packer = encoder.stages, encoder.packer
    assert packer is not None
    fits = type(stages) is EncoderStages and type(packer) is Packer and stages.pauses == encoder.pauses
    fits = fits and packer.flushes and packer.lanes == stages.lanes * stages.slots
    fits = fits and packer.ahead == (0 if stages.pauses else stages.latency)
    if isinstance(core, Transcoder):
        table = source_table(core.source)
        # So its items have the code point U+FFFD where they are ill-formed, and beats are dropped as `item_lanes` says.
        fits = fits and core.decoder.replacement and (stages.collides or core.lanes >= table.longest)
        fits = fits and core.detector is None and core.remover is None
    proof = WideJoints(core)
    aig = aig_of(str(rtlil.convert(proof, name="top", ports=proof.ports, emit_src=False)), free=True)
    dependent = bool(aig.fan_in(aig.output_bits["shown"]) & set(aig.input_bits["ready"]))
    if not stages.pauses:
        # In the cycle after a reset.
        (reset,), (accepts,) = aig.input_bits["rst"], aig.output_bits["accepts"]
        cycles = Cycles(aig, [{reset: 1}, {}])
        fits = fits and entailed(cycles.gates, [], {"": [cycles.outputs[1][accepts] ^ 1]})[0] is True
    return fits and aig.outputs[aig.output_bits["bad"][0]] == 0, dependent


def prove_units(
    build: Callable[[], Any], wanted: Property, table: EncodingTable | None = None, *, seconds: int = 600
) -> tuple[bool | None, str]:
    """Prove that the stages of a core make the units of its code points, in lanes that are in order.

    Args:
        build: makes the core.
        wanted: `Property.EQUIVALENCE`, or `Property.POWER_UP`: also from power-up on.
        table: the table of the output that it is compared with; default: its own.
        seconds: limit, see `entailed`.

    Raises:
        ToolError: see `prove_stages`.
        SolverMissingError: see `prove_stages`.
    """
    like = build()
    source = source_table(like.source) if isinstance(like, Transcoder) else None
    if source is not None:
        proved, note = prove_item_lanes(source, seconds=seconds)
        if not proved:
            return proved, note

    def parts() -> tuple[EncoderStages, EncoderReference]:
        core = build()
        encoding = core.target if isinstance(core, Transcoder) else core.encoding
        return core.encoder.stages, EncoderReference(SimpleNamespace(encoding=encoding), table)

    return prove_stages(parts, source, power_up=wanted is Property.POWER_UP, seconds=seconds)
