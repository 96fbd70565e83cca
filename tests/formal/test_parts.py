# SPDX-License-Identifier: BSD-2-Clause
"""A core whose parts are proved by themselves contains them as they are."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Module, ResetInserter

from utf8fpga.formal.catalogue import CONFIGURATIONS
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import ParallelDecoder, Remover
from utf8fpga.hdl.chain import Chain

PARTS = {
    "packed-2": (Chain, "packer"),
    "parallel-4": (ParallelDecoder, "buffer"),
    "remover-2": (Remover, "closer"),
    "transcoder-utf-8-to-utf-8-area": (Chain, "encoder"),
}


@pytest.mark.smoke
@pytest.mark.parametrize("name", PARTS)
def test_a_core_that_resets_a_part_is_not_proved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, part = PARTS[name]
    elaborate = kind.elaborate

    def wrong(self: Any, platform: object) -> Module:
        m = elaborate(self, platform)
        component, place = m._named_submodules[part]
        m._named_submodules[part] = ResetInserter(self.input.valid & self.input.payload.last)(component), place
        return m

    monkeypatch.setattr(kind, "elaborate", wrong)
    (result,) = prove(CONFIGURATIONS[name], "steady")
    assert result.proved is None
