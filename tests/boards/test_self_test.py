# SPDX-License-Identifier: BSD-2-Clause
"""The self-test of a board in simulation: its verdict, its UART, and the clocks of its PLL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.sim import Simulator
from support.builds import needs_tools

from utf8fpga.boards.build import build_self_test
from utf8fpga.boards.self_test import (
    TEXT_BYTES,
    UNITS,
    PllSetting,
    SelfTest,
    drawn_bytes,
    expected_signature,
    fastest_setting,
    pll_settings,
)
from utf8fpga.hdl.decoder.serial import SerialSpeedDecoder
from utf8fpga.model import TABLE_3_7, EncodingTable, InvalidArgumentError

LENGTH_BITS = 9
"""512 bytes, with every kind of error."""

SETTING = PllSetting(48e6, {})


def verdict_of(core: Any = None, *, cycles: int = 5000) -> tuple[bool, bool, bytes]:
    """Whether a self-test has passed and failed after so many cycles of the decoder's clock, and what it sent last."""
    test = SelfTest(12e6, 3e6, "ice40", SETTING, length_bits=LENGTH_BITS, core=core)
    simulator, levels = Simulator(test), []
    simulator.add_clock(1 / 12e6)
    simulator.add_clock(1 / 48e6, domain="fast")

    async def host(ctx: Any) -> None:
        for _ in range(cycles // 4):
            await ctx.tick()
            levels.append(ctx.get(test.tx))
        verdict.append((bool(ctx.get(test.activity)), bool(ctx.get(test.error))))

    verdict: list[tuple[bool, bool]] = []
    simulator.add_testbench(host)
    simulator.run()
    return *verdict[0], received(levels)


def received(levels: list[int]) -> bytes:
    """The bytes of a line with four cycles for a bit, in which the last byte may be cut off."""
    found, place = bytearray(), 0
    while 0 in levels[place:] and (start := levels.index(0, place)) + 38 < len(levels):
        found.append(sum(levels[start + 6 + 4 * number] << number for number in range(8)))
        place = start + 38
    return bytes(found)


class Faulty(SerialSpeedDecoder):
    """A decoder of a table with surrogates."""

    def __init__(self) -> None:
        rows = [str(row).replace("U+", "").replace(" as ", "  ") for row in TABLE_3_7.rows]
        rows[4] = "D000..DFFF ED 80..BF 80..BF"
        wrong = EncodingTable.parse("wrong", "\n".join(rows), source="a mutant")
        super().__init__(wrong)


def test_texts_have_every_lead_and_every_bound() -> None:
    data = bytes(drawn_bytes(1 << 12))
    assert set(data) == set(UNITS)
    text = data.decode("utf-8", "replace")
    assert {len(each.encode()) for each in text if each != "\ufffd"} == {1, 2, 3, 4}


def test_signature_is_that_of_cpython() -> None:
    signature, data = 0, bytes(drawn_bytes(1 << LENGTH_BITS))
    for start in range(0, len(data), TEXT_BYTES):
        for character in data[start : start + TEXT_BYTES].decode("utf-8", "replace"):
            word = ord(character) | (character == "\ufffd") << 31
            signature = ((signature << 1 | signature >> 31) & 0xFFFFFFFF) ^ word
    assert expected_signature(1 << LENGTH_BITS) == signature


def test_the_correct_decoder_passes_and_says_so() -> None:
    passed, failed, sent = verdict_of()
    assert (passed, failed) == (True, False)
    assert set(sent.split(b"\n")[:-1]) == {b"testing", b"passed."}


def test_one_wrong_row_of_the_table_turns_the_verdict() -> None:
    passed, failed, sent = verdict_of(Faulty())
    assert (passed, failed) == (False, True)
    assert set(sent.split(b"\n")[:-1]) == {b"testing", b"failed."}


def test_a_fault_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("utf8fpga.boards.self_test.expected_signature", lambda *_arguments: 1)
    assert verdict_of(cycles=12_000)[:2] == (False, True)


@pytest.mark.parametrize("family", ["ice40", "ecp5"])
@pytest.mark.parametrize("clock_hz", [10e6, 12e6, 25e6, 48e6, 100e6])
def test_settings_of_the_pll_are_within_the_limits_of_the_data_sheets(family: str, clock_hz: float) -> None:
    found = list(pll_settings(family, clock_hz))
    assert found
    for hz, parameters in found:
        if family == "ice40":  # FPGA-TN-02052: the VCO has 533 to 1066 MHz.
            vco = clock_hz / (parameters["DIVR"] + 1) * (parameters["DIVF"] + 1)
            assert 533e6 <= vco <= 1066e6
            assert hz == vco / 2 ** parameters["DIVQ"]
            assert parameters["DIVF"] < 128
        else:  # FPGA-TN-02200: the VCO has 400 to 800 MHz.
            assert hz == clock_hz / parameters["CLKI_DIV"] * parameters["CLKFB_DIV"]
            assert 400e6 <= hz * parameters["CLKOP_DIV"] <= 800e6
            assert parameters["CLKFB_DIV"] <= 80


def test_the_fastest_setting_up_to_a_limit() -> None:
    # 12 MHz times 84, 1008 MHz, over 4.
    assert fastest_setting("ice40", 12e6, 253e6).hz == 252e6
    assert fastest_setting("ecp5", 25e6, 257e6).hz == 256.25e6
    with pytest.raises(InvalidArgumentError, match="needs the PLL of an iCE40 or ECP5, not of family 'gowin'"):
        fastest_setting("gowin", 27e6, 257e6)


@pytest.mark.build
@pytest.mark.parametrize("name", ["icebreaker", "ulx3s-85f"])
def test_a_self_test_is_built_with_a_clock_that_is_met(name: str, tmp_path: Path) -> None:
    needs_tools(name)
    report = build_self_test(name, tmp_path)
    assert report.fmax_mhz >= report.required_mhz
    assert report.required_mhz > {"icebreaker": 50, "ulx3s-85f": 200}[name]
