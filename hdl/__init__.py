# SPDX-License-Identifier: BSD-2-Clause
"""The cores in Amaranth, generated from the same rows as the golden model, and their AXI4-Stream ports and Verilog."""

from __future__ import annotations

try:
    import amaranth  # noqa: F401  (whether it is installed)
except ModuleNotFoundError:
    raise ModuleNotFoundError("amaranth is not installed: pip install -e '.[hdl]'", name="amaranth") from None

from utf8fpga.hdl.axi_stream import AxiStreamCore, axi_signature
from utf8fpga.hdl.core import Core, CoreEntry
from utf8fpga.hdl.cores import CORES, OutputSymbol, build, command_words, decoder_core, entry_of
from utf8fpga.hdl.parameters import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    SanitizerParameters,
    TranscoderParameters,
    ValidatorParameters,
)
from utf8fpga.hdl.payloads import Kind, Word
from utf8fpga.hdl.validator.tap import ValidatorTap
from utf8fpga.hdl.verilog.interface import module_name
from utf8fpga.hdl.verilog.writer import axi_rtlil, axi_verilog

__all__ = [
    "CORES",
    "AxiStreamCore",
    "Core",
    "CoreEntry",
    "CoreParameters",
    "DecoderParameters",
    "EncoderParameters",
    "Kind",
    "OutputSymbol",
    "RemoverParameters",
    "SanitizerParameters",
    "TranscoderParameters",
    "ValidatorParameters",
    "ValidatorTap",
    "Word",
    "axi_rtlil",
    "axi_signature",
    "axi_verilog",
    "build",
    "command_words",
    "decoder_core",
    "entry_of",
    "module_name",
]
