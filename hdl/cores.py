# SPDX-License-Identifier: BSD-2-Clause
"""The registry of the cores: what a command may be given as its first word."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from utf8fpga.hdl.core import CoreParameters
from utf8fpga.hdl.decoder.parameters import DecoderParameters

__all__ = ["CORES"]

CORES: Mapping[str, type[CoreParameters]] = MappingProxyType({kind.core: kind for kind in (DecoderParameters,)})
"""By name the parameters of each kind of core; the first is the default."""
