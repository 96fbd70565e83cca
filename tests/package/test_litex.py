# SPDX-License-Identifier: BSD-2-Clause
"""The LiteX module: widths of the endpoints, the Verilog file, and the output of designs around them in simulation."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.icarus import requires_icarus, run_icarus

from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    TranscoderParameters,
    ValidatorParameters,
)
from utf8fpga.model import InvalidArgumentError

pytest.importorskip("litex", reason="requires the extra 'litex'")

from litex.gen import LiteXModule
from litex.gen.fhdl.verilog import convert
from migen import Cat, ClockDomain, Signal

from utf8fpga.litex import Utf8Core


@pytest.fixture
def platform() -> Any:
    sources: list[str] = []
    return SimpleNamespace(sources=sources, add_source=sources.append)


@pytest.mark.parametrize(("lanes", "kind"), [(1, False), (2, False), (2, True)])
def test_widths_of_the_endpoints(lanes: int, kind: bool, platform: Any, tmp_path: Path) -> None:
    decoder = Utf8Core(platform, DecoderParameters(lanes=lanes, kind=kind), directory=tmp_path / "made")
    assert (len(decoder.sink.data), len(decoder.sink.keep)) == (8 * lanes, lanes)
    assert (len(decoder.source.data), len(decoder.source.keep), len(decoder.source.user)) == (
        32 * lanes,
        4 * lanes,
        lanes * (4 if kind else 1),  # the error flag, and three bits for the cause
    )
    [file] = platform.sources
    assert Path(file).parent == tmp_path / "made"
    assert f"module {Path(file).stem} (" in Path(file).read_text(encoding="utf-8")


def test_wrong_arguments_write_nothing(platform: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="'4' is not a Verilog identifier"):
        Utf8Core(platform, DecoderParameters(), name="4", directory=tmp_path / "made")
    assert not (tmp_path / "made").exists()
    assert not platform.sources


class Copied(LiteXModule):
    """A core between two streams of bytes: ports with short names, a tap with a stream that is always ready."""

    def __init__(self, platform: Any, parameters: CoreParameters, directory: Path) -> None:
        self.cd_sys = ClockDomain()
        self.core = core = Utf8Core(platform, parameters, directory=directory)
        sink, source, reports = core.sink, core.source, core.reports
        self.ins = {
            name: Signal(len(getattr(sink, name)), name=f"in_{name}") for name in ("valid", "last", "data", "keep")
        }
        self.ready, self.shown = Signal(name="in_ready"), Signal(name="out_valid")
        self.out = Signal(200, name="out")
        self.comb += [getattr(sink, name).eq(port) for name, port in self.ins.items()]
        if source is None:
            self.comb += [sink.ready.eq(1), self.ready.eq(1), self.shown.eq(reports["tvalid"])]
            self.comb += self.out.eq(Cat(reports["units"], reports["code_points"], reports["well_formed"]))
        else:
            self.comb += [source.ready.eq(1), self.ready.eq(sink.ready), self.shown.eq(source.valid)]
            self.comb += self.out.eq(Cat(source.data, source.keep))
        self.ios = {self.cd_sys.clk, self.cd_sys.rst, *self.ins.values(), self.ready, self.shown, self.out}


CORE_BENCH = """
module bench;
  reg sys_clk = 0, sys_rst = 1; wire ready, shown; wire [199:0] out; integer sent = 0, cycle; reg taken;
  reg [%(bits)d:0] text [0:%(most)d]; reg [%(bits)d:0] beat;
  always #5 sys_clk = ~sys_clk;
  copied dut (.sys_clk(sys_clk), .sys_rst(sys_rst), .in_valid(sent <= %(most)d && cycle > 0), .in_last(beat[%(bits)d]),
    .in_data(beat[%(bits)d-1:0]), .in_keep(~%(keep)d'd0), .in_ready(ready), .out_valid(shown), .out(out));
  initial begin
    %(text)s
    cycle = 0; beat = text[0];
    repeat (3) @(posedge sys_clk); #1 sys_rst = 0;
    for (cycle = 1; cycle < 200; cycle = cycle + 1) begin
      beat = sent <= %(most)d ? text[sent] : 0;
      #2 if (shown) $display("%%h", out);
      taken = ready && sent <= %(most)d;
      @(posedge sys_clk); #1 if (taken) sent = sent + 1;
    end
    $finish;
  end
endmodule
"""

TEXT = b"a\xc3\xa9\xe2\x82\xff\xf0\x9f\x98\x80"
REPLACED = TEXT.decode("utf-8", "replace")
UTF_16 = REPLACED.encode("utf-16-le")


UNITS = [int.from_bytes(UTF_16[at : at + 2], "little") | 3 << 16 for at in range(0, len(UTF_16), 2)]
"""The lowest bits of `out`: a unit, and above it its bits of keep."""

CORES: dict[str, tuple[CoreParameters, list[int], list[int]]] = {
    "transcoder": (TranscoderParameters(to="utf-16-le"), list(TEXT), UNITS),
    "tap": (ValidatorParameters(), list(TEXT), [len(TEXT) | len(REPLACED) << 32]),
}


@requires_icarus
@pytest.mark.parametrize(("parameters", "symbols", "expected"), CORES.values(), ids=CORES)
def test_every_core_is_a_module(
    parameters: CoreParameters, symbols: list[int], expected: list[int], platform: Any, tmp_path: Path
) -> None:
    copied = Copied(platform, parameters, tmp_path)
    verilog = str(convert(copied, ios=copied.ios, name="copied"))
    (tmp_path / "copied.v").write_text(verilog, encoding="utf-8")
    bits, keep = len(copied.ins["data"]), len(copied.ins["keep"])
    text = " ".join(
        f"text[{at}] = {bits + 1}'h{(at == len(symbols) - 1) << bits | unit:x};" for at, unit in enumerate(symbols)
    )
    values = {"bits": bits, "keep": keep, "most": len(symbols) - 1, "text": text}
    (tmp_path / "bench.v").write_text(CORE_BENCH % values, encoding="utf-8")
    files = ["copied.v", "bench.v", *platform.sources]
    printed = run_icarus(tmp_path, files).stdout
    assert [int(line, 16) for line in printed.splitlines()] == expected
