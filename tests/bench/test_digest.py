# SPDX-License-Identifier: BSD-2-Clause
"""The digest that identifies a circuit beside its recorded figures."""

from __future__ import annotations

import re

from utf8fpga.bench.digest import logic_digest
from utf8fpga.hdl import DecoderParameters, axi_rtlil


def test_the_digest_depends_on_the_logic_and_not_on_names() -> None:
    design = axi_rtlil(DecoderParameters().build())
    digest = logic_digest(design)
    assert logic_digest(re.sub(r"\\(continued|gathered|opens)\b", r"\\\1_renamed", design)) == digest
    assert logic_digest(re.sub(r"^ +attribute .doc .*\n", "", design, flags=re.MULTILINE)) == digest
    for before, after, count in (
        ("cell $or", "cell $xor", 1),
        ("init 1'1", "init 1'0", 1),
        ("case 1'1", "case 1'0", 1),
        ("connect \\A \\s_axis_tkeep", "connect \\A \\s_axis_tvalid", 1),
        ("s_axis_tkeep", "s_axis_tkept", -1),
    ):
        assert before in design
        assert logic_digest(design.replace(before, after, count)) != digest, before
