# SPDX-License-Identifier: BSD-2-Clause
"""A self-test for the fabric: a decoder at a clock from the PLL, fed and judged beside it at full speed.

nextpnr estimates which clock a decoder reaches; this shows it on a board, without a host. A generator makes texts from
the bounds of Table 3-7, with pauses at both streams. A signature of what the decoder outputs is compared with that of
the golden model. The test repeats for ever: the LED for activity shows that it passed so far, the LED for errors that
it failed once, and the UART sends the verdict as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from amaranth.hdl import Array, Cat, ClockDomain, ClockSignal, Const, DomainRenamer, Instance, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer, ResetSynchronizer
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from utf8fpga.hdl import DecoderParameters, build
from utf8fpga.hdl.uart import UartTransmitter, uart_divisor
from utf8fpga.model import decode
from utf8fpga.model.exceptions import InvalidArgumentError

LEADS = bytes.fromhex("00 41 7F C0 C1 C2 DF E0 E1 EC ED EE EF F0 F1 F3 F4 F5 F7 F8 FF E0 ED F0 F4 C2 E1 EE F1 DF EF F3")
TRAILS = bytes.fromhex("80 8F 90 9F A0 BF") * 5 + bytes.fromhex("80 BF")
UNITS = LEADS + TRAILS
"""The bytes that the generator draws: half of them continue a sequence."""

TEXT_BYTES = 64
"""The bytes of a text, of which the last ones may be an open sequence."""

FAST_CLOCK = "fast_clk"
"""The name of the net of the decoder's clock, which is part of its name in the reports of the tools."""

MESSAGES = b"testing\npassed.\nfailed.\n"
"""What the UART sends: eight bytes before the first result, eight while all are good, and eight after a bad one."""

_DRAWN_BITS, _SEED = 6, 0x5DEECE66


class PllSetting(NamedTuple):
    """A frequency that a PLL makes, and the parameters with which it does."""

    hz: float
    parameters: dict[str, int]


def pll_settings(family: str, clock_hz: float) -> Iterator[PllSetting]:
    """What the PLL of an FPGA family makes of a clock; see FPGA-TN-02052 (iCE40) and FPGA-TN-02200 (ECP5).

    Raises:
        InvalidArgumentError: the family has no PLL that is supported here.
    """
    if family == "ice40":
        ranges = (17e6, 26e6, 44e6, 66e6, 101e6)
        filter_range = 1 + sum(clock_hz >= limit for limit in ranges)
        for divf, divq in product(range(128), range(1, 7)):
            if 533e6 <= (vco := clock_hz * (divf + 1)) <= 1066e6:
                yield PllSetting(vco / 2**divq, {"DIVR": 0, "DIVF": divf, "DIVQ": divq, "FILTER_RANGE": filter_range})
    elif family == "ecp5":
        for divided, multiplied, divisor in product(range(1, 5), range(1, 81), range(2, 129)):
            hz = clock_hz / divided * multiplied
            if clock_hz / divided >= 5e6 and 400e6 <= hz * divisor <= 800e6:
                yield PllSetting(hz, {"CLKI_DIV": divided, "CLKFB_DIV": multiplied, "CLKOP_DIV": divisor})
    else:
        raise InvalidArgumentError(f"a self-test needs the PLL of an iCE40 or ECP5, not of family {family!r}")


def fastest_setting(family: str, clock_hz: float, most_hz: float) -> PllSetting:
    """The setting with the highest frequency up to a limit."""
    possible = (setting for setting in pll_settings(family, clock_hz) if setting.hz <= most_hz)
    return max(possible, key=lambda setting: setting.hz)


def drawn_bytes(count: int) -> Iterator[int]:
    """The bytes of the generator: PRBS-31, six new bits for each byte."""
    state = _SEED
    for _ in range(count):
        yield UNITS[state & (1 << _DRAWN_BITS) - 1]
        fresh = (state >> 31 - _DRAWN_BITS ^ state >> 28 - _DRAWN_BITS) & (1 << _DRAWN_BITS) - 1
        state = (state << _DRAWN_BITS | fresh) & (1 << 31) - 1


def expected_signature(count: int) -> int:
    """The signature of the golden model for so many bytes."""
    data, signature = bytes(drawn_bytes(count)), 0
    for start in range(0, count, TEXT_BYTES):
        for item in decode(data[start : start + TEXT_BYTES]):
            word = item.code_point | (item.error is not None) << 31
            signature = (signature << 1 & 0xFFFFFFFF | signature >> 31) ^ word
    return signature


class SelfTest(wiring.Component):
    """The generator, the decoder and the comparison in the domain ``fast``; LEDs and UART in ``sync``.

    Args:
        clock_hz: the clock of the board.
        baud: bits per second of the UART.
        family: the FPGA family, for its PLL.
        setting: the clock of the decoder.
        length_bits: the test has 2**length_bits bytes.
        core: the decoder; default: the serial one with the highest clock.

    Ports:
        tx: the UART's line.
        activity: the test passed at least once, and never failed.
        error: the test failed at least once.
        rx, overflow: not used.
    """

    def __init__(
        self, clock_hz: float, baud: float, family: str, setting: PllSetting, *, length_bits: int = 16, core: Any = None
    ) -> None:
        self._divisor, self._family, self._setting = uart_divisor(clock_hz, baud), family, setting
        self._core, self._bits = core or build(DecoderParameters()), length_bits
        super().__init__({"rx": In(1), "tx": Out(1, init=1), "activity": Out(1), "error": Out(1), "overflow": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.fast = ClockDomain("fast")
        if platform is not None:
            self._add_pll(m, platform)
        m.submodules.core = DomainRenamer("fast")(self._core)
        noise, restart, differs, passed, failed = Signal(16, init=1), Signal(), Signal(), Signal(), Signal()
        m.d.fast += noise.eq(Cat(noise[15] ^ noise[14] ^ noise[12] ^ noise[3], noise[:15]))
        self._send(m, noise, restart)
        self._judge(m, noise, restart, differs)
        with m.If(restart):
            m.d.fast += [failed.eq(failed | differs), passed.eq(~failed & ~differs)]
        m.submodules.passed = FFSynchronizer(passed, self.activity)
        m.submodules.failed = FFSynchronizer(failed, self.error)
        self._report(m)
        return m

    def _send(self, m: Module, noise: Signal, restart: Signal) -> None:
        """Send the text, with pauses: a generator, and a skid buffer, whose registers alone wait for the decoder."""
        source = self._core.input
        drawn, count = Signal(31, init=_SEED), Signal(self._bits + 1)
        made, made_valid, held, held_valid = Signal(9), Signal(), Signal(9), Signal()
        draws, ends = Signal(), Signal()
        # Every other cycle near the end, so that no byte too many is drawn before `count` is known.
        m.d.fast += [ends.eq(count[2:-1].all()), draws.eq(noise[:2].any() & ~count[-1] & ~(ends & draws))]
        with m.If(~held_valid):
            m.d.fast += made_valid.eq(draws)
            with m.If(draws):
                unit = Array(Const(unit, 8) for unit in UNITS)[drawn[:_DRAWN_BITS]]
                m.d.fast += made.eq(Cat(unit, count[: exact_log2(TEXT_BYTES)].all()))
                m.d.fast += [drawn.eq(Cat(drawn[25:31] ^ drawn[22:28], drawn)), count.eq(count + 1)]
        m.d.comb += source.payload.keep.eq(1)
        with m.If(~source.valid | source.ready):
            data = Cat(source.payload.symbols[0], source.payload.last)
            m.d.fast += [data.eq(Mux(held_valid, held, made)), source.valid.eq(held_valid | made_valid)]
            m.d.fast += held_valid.eq(0)
        with m.Elif(made_valid & ~held_valid):
            m.d.fast += [held.eq(made), held_valid.eq(1)]
        with m.If(restart):
            m.d.fast += [drawn.eq(_SEED), count.eq(0)]

    def _judge(self, m: Module, noise: Signal, restart: Signal, differs: Signal) -> None:
        """Compare the signature of the output, in steps, since 32 bits at once take longer than a cycle."""
        output = self._core.output
        transferred = output.valid & output.ready
        kept, ended, word, signature = Signal(), Signal(), Signal(32), Signal(32)
        texts, steps, parts = Signal(self._bits - exact_log2(TEXT_BYTES) + 1), Signal(3), Signal(8)
        symbol, expected = output.payload.symbols[0], Const(expected_signature(1 << self._bits), 32)
        m.d.comb += restart.eq(steps[-1])
        m.d.fast += [
            output.ready.eq(noise[4:6].any()),
            kept.eq(transferred & output.payload.keep),
            ended.eq(transferred & output.payload.last),
            word.eq(Cat(symbol.code_point, Const(0, 10), symbol.error)),
            steps.eq(Mux(restart, 0, Cat(texts[-1], steps))),
            parts.eq(Cat(signature.word_select(part, 4) != expected.word_select(part, 4) for part in range(8))),
            differs.eq(parts.any()),
        ]
        with m.If(kept):
            m.d.fast += signature.eq(Cat(signature[31], signature[:31]) ^ word)
        with m.If(ended):
            m.d.fast += texts.eq(texts + 1)
        with m.If(restart):
            m.d.fast += [signature.eq(0), texts.eq(0)]

    def _report(self, m: Module) -> None:
        """Send the verdict again and again."""
        m.submodules.transmitter = transmitter = UartTransmitter(self._divisor)
        letter, verdict = Signal(3), Signal(2)
        sent = transmitter.data
        m.d.comb += [self.tx.eq(transmitter.tx), sent.valid.eq(1)]
        m.d.comb += sent.payload.eq(Array(Const(byte, 8) for byte in MESSAGES)[Cat(letter, verdict)])
        with m.If(sent.ready):
            m.d.sync += letter.eq(letter + 1)
            with m.If(letter == 7):
                m.d.sync += verdict.eq(Mux(self.error, 2, self.activity))

    def _add_pll(self, m: Module, platform: Any) -> None:
        """The clock of ``fast``, and where the PLL takes the pin of the clock, that of ``sync``, too."""
        locked, fast = Signal(), ClockSignal("fast")
        settings: dict[str, Any] = {f"p_{name}": value for name, value in self._setting.parameters.items()}
        if self._family == "ice40":
            pin = platform.request(platform.default_clk, dir="-")
            m.domains.sync = ClockDomain("sync")
            settings |= {"p_FEEDBACK_PATH": "SIMPLE", "p_PLLOUT_SELECT_PORTB": "GENCLK"}
            inputs = {"i_PACKAGEPIN": pin.io, "i_RESETB": Const(1), "i_BYPASS": Const(0)}
            outputs = {"o_PLLOUTGLOBALA": ClockSignal("sync"), "o_PLLOUTGLOBALB": fast, "o_LOCK": locked}
            m.submodules.pll = Instance("SB_PLL40_2_PAD", **settings, **inputs, **outputs)
            m.submodules.reset_sync = ResetSynchronizer(~locked, domain="sync")
        else:
            settings |= {"p_FEEDBK_PATH": "CLKOP", "p_CLKOP_ENABLE": "ENABLED"}
            settings |= {"p_CLKOP_CPHASE": self._setting.parameters["CLKOP_DIV"] // 2}
            clocks = {"i_CLKI": ClockSignal("sync"), "i_CLKFB": fast, "o_CLKOP": fast}
            m.submodules.pll = Instance("EHXPLLL", **settings, **clocks, o_LOCK=locked)
        m.submodules.reset_fast = ResetSynchronizer(~locked, domain="fast")
