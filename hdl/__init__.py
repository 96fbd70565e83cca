# SPDX-License-Identifier: BSD-2-Clause
"""The decoders in Amaranth, generated from the same rows as the golden model."""

from __future__ import annotations

from utf8fpga.hdl.decoder import ARCHITECTURES, AnyDecoder, Decoder
from utf8fpga.hdl.marks import MARK_PRACTICES, PracticeDecoder
from utf8fpga.hdl.packer import PackedDecoder, Packer
from utf8fpga.hdl.parallel import BUFFERS, MAX_LANES, ParallelDecoder
from utf8fpga.hdl.ports import Kind, beat_layout, item_layout, items_layout, unit_layout
from utf8fpga.hdl.refresh import MOST, STILL, Refresh
from utf8fpga.hdl.serial import PIPELINES, SerialDecoder
from utf8fpga.hdl.verilog import AxiStreamDecoder, axi_rtlil, axi_signature, axi_verilog
from utf8fpga.hdl.window import PARALLEL_PIPELINES

__all__ = [
    "ARCHITECTURES",
    "BUFFERS",
    "MARK_PRACTICES",
    "MAX_LANES",
    "MOST",
    "PARALLEL_PIPELINES",
    "PIPELINES",
    "STILL",
    "AnyDecoder",
    "AxiStreamDecoder",
    "Decoder",
    "Kind",
    "PackedDecoder",
    "Packer",
    "ParallelDecoder",
    "PracticeDecoder",
    "Refresh",
    "SerialDecoder",
    "axi_rtlil",
    "axi_signature",
    "axi_verilog",
    "beat_layout",
    "item_layout",
    "items_layout",
    "unit_layout",
]
