# SPDX-License-Identifier: BSD-2-Clause
"""The decoder of a composition of two tables, such as CESU-8: a decoder of each, one behind the other."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from amaranth.hdl import Cat, Value

from utf8fpga.hdl.chain import Chain, Join
from utf8fpga.hdl.decoder.parameters import DecoderParameters
from utf8fpga.hdl.remover import Remover
from utf8fpga.model.table import Composition, EncodingTable


@lru_cache(maxsize=8)
def flagged_form(composition: Composition) -> EncodingTable:
    """The form of a composition with one more bit in each code unit, which is 1 for what is ill-formed.

    No sequence has such a unit, so it is an ill-formed item by itself, and breaks an open sequence: what the model's
    `decode` states for compositions.
    """
    form = composition.form
    return EncodingTable(f"{form.name} with error flags", form.source, form.unit_width + 1, form.rows)


class ComposedDecoder(Chain):
    """The decoder of the unit table, and behind it one of the form of the composition, whose units are the items.

    Throughput: a beat per cycle. If there are several lanes, code units wait in the `Remover` between the two until
    there are as many as lanes, or until the packet ends.

    Args:
        parameters: those of the decoder of the unit table, sparse.

    Ports:
        input: stream of `beat_layout`, code units of the unit table.
        output: stream of `beat_layout`, items of `item_layout` of `flagged_form`.
    """

    def __init__(self, composition: Composition, parameters: DecoderParameters, *, replacement: bool) -> None:
        form, lanes = flagged_form(composition), parameters.lanes
        # The code point of an ill-formed code unit is not used.
        first = replace(parameters, replacement=False).build()
        second = DecoderParameters(
            table=form,
            lanes=lanes,
            packed=False,
            pipeline=parameters.pipeline,
            replacement=replacement,
        )
        super().__init__(
            second,
            {"first": first, "second": _CompactDecoder(second) if lanes > 1 else second.build()},
            {"input": parameters.ports["input"], "output": second.ports["output"]},
            {"second": Join(_unit_of_item)},
        )


class _CompactDecoder(Chain):
    """A `Remover` of code units, followed by a decoder of several lanes."""

    packed = False

    def __init__(self, parameters: DecoderParameters) -> None:
        remover = Remover(parameters.table.unit_width, parameters.lanes)
        super().__init__(parameters, {"remover": remover, "decoder": parameters.build()}, parameters.ports)


def _unit_of_item(unit: Any, item: Any) -> list[Any]:
    bits = Value.cast(unit)
    return [bits.eq(Cat(item.code_point[: len(bits) - 1], item.error))]
