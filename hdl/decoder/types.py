# SPDX-License-Identifier: BSD-2-Clause
"""A type alias for the decoders."""

from __future__ import annotations

from typing import TypeAlias

from utf8fpga.hdl.decoder.direct import DirectPackedDecoder
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.decoder.practice import PracticeDecoder
from utf8fpga.hdl.decoder.serial import SerialDecoder
from utf8fpga.hdl.packer.packer import PackedDecoder

__all__ = ["PlainDecoder"]

PlainDecoder: TypeAlias = SerialDecoder | PracticeDecoder | ParallelDecoder | PackedDecoder | DirectPackedDecoder
"""Any of the decoders, without a periodic reset."""
