# SPDX-License-Identifier: BSD-2-Clause
"""Values of a pipeline that are asked for in later stages."""

from __future__ import annotations

import pytest
from amaranth.hdl import Const, Module, Signal, Value
from support.pipelines import outcomes_of

from utf8fpga.hdl.pipeline import Pipeline, Staged


def test_values_that_meet_are_of_the_same_beat() -> None:
    def build(pipeline: Pipeline, bits: list[Staged]) -> list[Staged]:
        early, late = bits
        for _ in range(3):
            late = pipeline.apply("late", Value.__pos__, late)
        product = pipeline.apply("product", Value.__and__, early, late)
        return [product, pipeline.apply("cleared", Value.__pos__, late, clear=early, earliest=6)]

    words = [0b11, 0b01, 0b10, 0b00, 0b11, 0b10]
    expected = [[int(word == 0b11), int(word == 0b10)] for word in words]
    assert outcomes_of(build, words, 2) == expected


def test_a_function_is_not_computed_before_the_earliest_stage() -> None:
    pipeline = Pipeline()
    assert pipeline.apply("late", Value.__pos__, Staged(Signal(), 2), earliest=6).stage == 6
    assert pipeline.apply("next", Value.__pos__, Staged(Signal(), 2), earliest=2).stage == 3


def test_a_delay_is_made_once() -> None:
    pipeline, value = Pipeline(), Staged(Signal(name="value"), 0)
    assert pipeline.at(value, 3) is pipeline.at(value, 3)
    assert pipeline.at(value, 1) is pipeline.registers[0].value
    assert [each.stage for each in pipeline.delayed(value)] == [0, 1, 2, 3]
    assert [each.value.name for each in pipeline.registers] == ["value_1", "value_2", "value_3"]


def test_a_value_is_not_known_before_its_stage() -> None:
    with pytest.raises(AssertionError, match=r"^a value of stage 2 is not known in stage 1"):
        Pipeline().at(Staged(Signal(), 2), 1)


def test_no_register_is_made_after_the_others_were_connected() -> None:
    pipeline = Pipeline()
    pipeline.connect(Module())
    with pytest.raises(AssertionError, match=r"^nothing would drive a register"):
        pipeline.register("late", Const(0, 1), 0)
