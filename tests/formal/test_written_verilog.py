# SPDX-License-Identifier: BSD-2-Clause
"""The written Verilog, with a module for each component, is proved equal to the design that it was written for."""

from __future__ import annotations

import pytest
from support.tiers import tiered

from utf8fpga.formal import runner
from utf8fpga.formal.catalogue import CONFIGURATIONS
from utf8fpga.formal.netlist import equal_verilog
from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    TranscoderParameters,
    ValidatorParameters,
    axi_rtlil,
    axi_verilog,
    build,
)
from utf8fpga.hdl.verilog.writer import module_name

CORES = {
    "serial": DecoderParameters(optimize="area"),
    "serial-speed": DecoderParameters(optimize="speed"),
    "sparse-3": DecoderParameters(lanes=3, packed=False),
    "sparse-4": DecoderParameters(lanes=4, packed=False),
    "packed-2": DecoderParameters(lanes=2),
    "packed-4": DecoderParameters(lanes=4),
    "encoder-2": EncoderParameters(to="utf-16-le", lanes=2),
    "to-utf-16-le": TranscoderParameters(to="utf-16-le"),
    "to-utf-16-le-area": TranscoderParameters(to="utf-16-le", optimize="area"),
    "sanitizer-2": TranscoderParameters(lanes=2),
    "remover-2": RemoverParameters(lanes=2, width=20, user=3),
    "remover-3": RemoverParameters(lanes=3, width=3),
    "tap-3": ValidatorParameters(lanes=3),
}


@pytest.mark.parametrize("parameters", tiered(CORES, ["serial", "sparse-4", "remover-2"]))
def test_the_verilog_is_equal_to_its_design(parameters: CoreParameters) -> None:
    core = build(parameters)
    assert equal_verilog(axi_rtlil(core), axi_verilog(core), module_name(core)).proved is True


@pytest.mark.smoke
def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # An operand of the first conjunction is inverted.
    monkeypatch.setattr(runner, "axi_verilog", lambda core: axi_verilog(core).replace(" & ", " & ~", 1))
    (result,) = runner.prove(CONFIGURATIONS["serial-area"], "verilog")
    assert result.proved is False


@pytest.mark.smoke
def test_bits_that_float_are_not_zero() -> None:
    core = build(CORES["serial"])
    verilog = axi_verilog(core).replace("{11'h000,", "{11'hz,")
    assert verilog != axi_verilog(core)
    assert equal_verilog(axi_rtlil(core), verilog, module_name(core)).proved is False
