# SPDX-License-Identifier: BSD-2-Clause
"""Faults of transcoders, in how their parts are joined, for the tests of their proofs."""

from __future__ import annotations

from typing import Any

import pytest

from utf8fpga.hdl.transcoder import transcoder


def ends_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last beat of a packet is not marked at the output."""
    connect = transcoder.connect_units

    def without(m: Any, source: Any, output: Any, encoding: Any) -> None:
        connect(m, source, output, encoding)
        m.d.comb += output.payload.last.eq(0)

    monkeypatch.setattr(transcoder, "connect_units", without)
