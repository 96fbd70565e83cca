# SPDX-License-Identifier: BSD-2-Clause
"""Values of a pipeline that are asked for in later stages."""

from __future__ import annotations

import pytest
from amaranth.hdl import Const, Module, Signal

from utf8fpga.hdl.pipeline import Pipeline, Staged


def test_a_value_is_not_known_before_its_stage() -> None:
    with pytest.raises(AssertionError, match=r"^a value of stage 2 is not known in stage 1"):
        Pipeline().at(Staged(Signal(), 2), 1)


def test_no_register_is_made_after_the_others_were_connected() -> None:
    pipeline = Pipeline()
    pipeline.connect(Module())
    with pytest.raises(AssertionError, match=r"^nothing would drive a register"):
        pipeline.register("late", Const(0, 1), 0)
