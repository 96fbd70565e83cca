# SPDX-License-Identifier: BSD-2-Clause
"""The LiteX module: widths of the endpoints, the Verilog file, and the output of designs around them in simulation."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.icarus import requires_icarus, run_icarus

from utf8fpga.hdl import CoreParameters, DecoderParameters, TranscoderParameters, ValidatorParameters

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


class Copied(LiteXModule):
    """A core with ports of short names, of which the output is always ready."""

    def __init__(self, platform: Any, parameters: CoreParameters, directory: Path) -> None:
        self.cd_sys = ClockDomain()
        self.core = core = Utf8Core(platform, parameters, directory=directory)
        valid, last, data = Signal(name="in_valid"), Signal(name="in_last"), Signal(8, name="in_data")
        ready, shown, out = Signal(name="in_ready"), Signal(name="out_valid"), Signal(200, name="out")
        self.comb += [core.sink.valid.eq(valid), core.sink.last.eq(last), core.sink.data.eq(data), core.sink.keep.eq(1)]
        if core.source is None:  # A tap sees what another module accepts.
            reports = core.reports
            values = Cat(reports["units"], reports["code_points"], reports["well_formed"])
            self.comb += [core.sink.ready.eq(1), ready.eq(1), shown.eq(reports["tvalid"]), out.eq(values)]
        else:
            values = Cat(core.source.data, core.source.keep)
            self.comb += [core.source.ready.eq(1), ready.eq(core.sink.ready)]
            self.comb += [shown.eq(core.source.valid), out.eq(values)]
        self.ios = {self.cd_sys.clk, self.cd_sys.rst, valid, last, data, ready, shown, out}


CORE_BENCH = """
module bench;
  reg sys_clk = 0, sys_rst = 1; wire ready, shown; wire [199:0] out; integer sent = 0;
  reg [7:0] text [0:9]; wire valid = !sys_rst && sent < 10;
  always #5 sys_clk = ~sys_clk;
  copied dut (.sys_clk(sys_clk), .sys_rst(sys_rst), .in_valid(valid), .in_last(sent == 9), .in_data(text[sent]),
    .in_ready(ready), .out_valid(shown), .out(out));
  initial begin
    $readmemh("text.hex", text);
    repeat (3) @(posedge sys_clk); sys_rst <= 0;
    repeat (200) @(posedge sys_clk) begin
      if (shown) $display("%h", out);
      if (valid && ready) sent <= sent + 1;
    end
    $finish;
  end
endmodule
"""

TEXT = b"a\xc3\xa9\xe2\x82\xff\xf0\x9f\x98\x80"
REPLACED = TEXT.decode("utf-8", "replace")
UTF_16 = REPLACED.encode("utf-16-le")

CASES = {
    # A unit, and above it its bits of keep.
    "transcoder": (
        TranscoderParameters(to="utf-16-le"),
        [int.from_bytes(UTF_16[at : at + 2], "little") | 3 << 16 for at in range(0, len(UTF_16), 2)],
    ),
    "tap": (ValidatorParameters(), [len(TEXT) | len(REPLACED) << 32]),
}


@requires_icarus
@pytest.mark.parametrize(("parameters", "expected"), CASES.values(), ids=CASES)
def test_every_core_is_a_module(parameters: CoreParameters, expected: list[int], platform: Any, tmp_path: Path) -> None:
    copied = Copied(platform, parameters, tmp_path)
    (tmp_path / "copied.v").write_text(str(convert(copied, ios=copied.ios, name="copied")), encoding="utf-8")
    (tmp_path / "bench.v").write_text(CORE_BENCH, encoding="utf-8")
    (tmp_path / "text.hex").write_text(TEXT.hex("\n"), encoding="utf-8")
    printed = run_icarus(tmp_path, ["copied.v", "bench.v", *platform.sources]).stdout
    assert [int(line, 16) for line in printed.splitlines()] == expected
