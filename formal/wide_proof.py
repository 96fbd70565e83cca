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
from typing import Any

from amaranth.hdl import Const, Module, Signal

from utf8fpga.formal.cycles import Cycles, entailed
from utf8fpga.formal.encoder_reference import EncoderReference
from utf8fpga.formal.item_lanes import prove_item_lanes
from utf8fpga.formal.joints import Joints, Pairs, is_joined
from utf8fpga.formal.properties import Property
from utf8fpga.formal.stages_proof import prove_stages
from utf8fpga.hdl import Packer
from utf8fpga.hdl.encoder.parallel_encoder import ParallelEncoder
from utf8fpga.hdl.encoder.stages import EncoderStages
from utf8fpga.model import EncodingTable


def is_wide(core: Any) -> bool:
    """Whether the output of an encoder or of a transcoder is that of a packer behind `EncoderStages`."""
    return getattr(core.encoder, "packer", None) is not None and not core.encoder.is_narrow


class EncoderJoints(Joints):
    """Whether a `ParallelEncoder` connects its stages and its packer as the proof by parts assumes."""

    def __init__(self, core: ParallelEncoder) -> None:
        super().__init__(core)
        self.accepts = Signal(name="accepts")

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.accepts.eq(self.core.input.ready)
        return m

    def connected(self) -> Pairs:
        core, items, output = self.core, self.core.input, self.core.output
        stages, packer = core.stages, core.packer
        sparse, packed = packer.sparse, packer.packed
        run, accepted, ready = (
            (sparse.ready.replicate(len(stages.run)), items.valid, stages.input.ready)
            if core.pauses
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
            (output.payload, packed.payload),
            (packed.ready, output.ready),
        ]


def prove_joints(build: Callable[[], Any]) -> tuple[bool, bool]:
    """Whether a core is its parts, joined as the proofs assume, and whether its output depends on `ready`."""
    core = build()
    encoder: ParallelEncoder = core.encoder
    stages, packer = encoder.stages, encoder.packer
    assert packer is not None
    fits = type(stages) is EncoderStages and type(packer) is Packer and stages.pauses == encoder.pauses
    fits = fits and packer.flushes and packer.lanes == stages.lanes * stages.slots
    fits = fits and packer.ahead == (0 if stages.pauses else stages.latency)
    if (source := source_of(core)) is not None:
        # So its items have the code point U+FFFD where they are ill-formed, and beats are dropped as `item_lanes` says.
        fits = fits and core.decoder.parameters.replacement and (stages.collides or core.lanes >= source.longest)
        fits = fits and set(core.stages) == {"decoder", "encoder"}
    joined, dependent = is_joined(core)
    aig = EncoderJoints(build().encoder).graph(free=True)
    if not stages.pauses:
        # In the cycle after a reset.
        (reset,), (accepts,) = aig.input_bits["rst"], aig.output_bits["accepts"]
        cycles = Cycles(aig, [{reset: 1}, {}])
        fits = fits and entailed(cycles.gates, [], {"": [cycles.outputs[1][accepts] ^ 1]})[0] is True
    return fits and joined and aig.outputs[aig.output_bits["bad"][0]] == 0, dependent


def source_of(core: Any) -> EncodingTable | None:
    """The table of the decoder in front of the encoder of a core; None if there is none."""
    table: EncodingTable | None = core.decoder.parameters.table if "decoder" in core.stages else None
    return table


def prove_units(
    build: Callable[[], Any], wanted: Property, table: EncodingTable | None = None, *, seconds: int = 600
) -> tuple[bool | None, str]:
    """Prove that the stages of a core make the units of its code points, in lanes that are in order.

    Args:
        wanted: `Property.EQUIVALENCE`, or `Property.POWER_UP`: also from power-up on.
        table: the table of the output that it is compared with; default: its own.
    """
    source = source_of(build())
    if source is not None:
        proved, note = prove_item_lanes(source, seconds=seconds)
        if not proved:
            return proved, note

    def parts() -> tuple[EncoderStages, EncoderReference]:
        core = build()
        return core.encoder.stages, EncoderReference(core.parameters.target, table)

    return prove_stages(parts, source, power_up=wanted is Property.POWER_UP, seconds=seconds)
