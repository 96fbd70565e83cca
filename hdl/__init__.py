# SPDX-License-Identifier: BSD-2-Clause
"""The decoders in Amaranth, generated from the same rows as the golden model."""

from __future__ import annotations

from utf8fpga.hdl.marks import MARK_PRACTICES, PracticeDecoder
from utf8fpga.hdl.ports import Kind, item_layout, unit_layout
from utf8fpga.hdl.serial import PIPELINES, SerialDecoder
from utf8fpga.hdl.verilog import AxiStreamDecoder, axi_rtlil, axi_signature, axi_verilog

__all__ = [
    "MARK_PRACTICES",
    "PIPELINES",
    "AxiStreamDecoder",
    "Kind",
    "PracticeDecoder",
    "SerialDecoder",
    "axi_rtlil",
    "axi_signature",
    "axi_verilog",
    "item_layout",
    "unit_layout",
]
