# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps, their cache and executors, foreign cores, tables and plots."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.command import COMMAND, utf8fpga
from support.oracle import refusal
from support.processes import LIMIT_SECONDS, is_running, run, started, wait_until
from support.programs import write_program
from support.tiers import tiered

from utf8fpga.bench import jobs
from utf8fpga.bench.cache import Cache, CacheError
from utf8fpga.bench.design import CoreError, Design, foreign_core, measured_core
from utf8fpga.bench.jobs import DEVICES, Area, Device, Speed
from utf8fpga.bench.plot import PlotError, draw_scaling, drawn_digest, scaling_plot
from utf8fpga.bench.sweep import Figure, Point, sweep
from utf8fpga.bench.tables import (
    figures_as_dict,
    kept_figure,
    limits_table,
    points_table,
)
from utf8fpga.cli import record
from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.foreign import read_module, read_script
from utf8fpga.hdl.foreign_ports import read_description
from utf8fpga.hdl.toolchain import ToolError, run_tool

HX8K, UP5K, ECP5, ECP5_8 = DEVICES.values()

VERILOG = "module counter(input clk, input up, output reg q);\nalways @(posedge clk) q <= q ^ up;\nendmodule\n"
COUNTER = Design(
    title="counter",
    sources=(("core.v", VERILOG),),
    top="counter",
    clock="clk",
    inputs=(("up", 1),),
    outputs=(("q", 1),),
    lanes=1,
    bytes_per_clock=0.5,
)
POINT = Point(COUNTER, HX8K, (1, 2, 3))

FOREIGN = """
module helper(input clk, input d, output reg q);
  always @(posedge clk) q <= d;
endmodule
module foreign(input clk_i, input rst_ni, input [7:0] data, input en, output reg [20:0] code, output spare);
  helper h(.clk(clk_i), .d(data[0]), .q(spare));
  always @(posedge clk_i)
    if (!rst_ni) code <= 0;
    else if (en) code <= {code[12:0], data};
endmodule
"""
FOREIGN_PORTS = {
    **{name: ("input", width) for name, width in {"clk_i": 1, "rst_ni": 1, "data": 8, "en": 1}.items()},
    **{name: ("output", width) for name, width in {"code": 21, "spare": 1}.items()},
}

# Stand-ins for the tools, which count their calls and print results that depend on all their inputs. They start
# hundreds of times and import little, since importing json would double the time.
_COUNT = """
import sys, zlib
if "--version" in sys.argv:
    print("{tool} {version}"); sys.exit()
def log(what):
    with open({log!r}, "a") as file: file.write(what + "\\n")
def read(name):
    with open(name) as file: return file.read()
def write(name, text):
    with open(name, "w") as file: file.write(text)
"""
_YOSYS = """
script = sys.argv[-1]
if "write_json ports.json" in script:
    import json
    ports = {{name: {{"direction": flow, "bits": [0] * width}} for name, (flow, width) in {ports!r}.items()}}
    write("ports.json", json.dumps({{"modules": {{"foreign": {{"attributes": {{"top": "1"}}, "ports": ports}}}}}}))
    sys.exit()
if "write_verilog" in script:
    write("top.v", "module utf8_decoder(); // %d\\nendmodule\\n" % zlib.crc32(read("top.il").encode()))
    write("top.json", '{{"modules": {{"utf8_decoder": {{"netnames": {{}}}}}}}}')
    sys.exit()
log("yosys")
words = [command.split() for command in script.split(";")]
number = zlib.crc32("".join(read(each[-1]) for each in words if each[0].startswith("read_")).encode())
*_, synthesis = words
top, has_option = synthesis[2], len(synthesis) > 5
cells = '"a": {{"type": "SB_LUT4", "of": %d}}, "b": {{"type": "SB_DFF"}}' % number
if has_option and {carry}: cells += ', "c": {{"type": "SB_DFFE"}}'
write("netlist.json", '{{"modules": {{"%s": {{"cells": {{%s}}}}}}}}' % (top, cells))
"""
_NEXTPNR = """
netlist = read("netlist.json")
if "--pack-only" in sys.argv:
    log("pack"); print("Info: ICESTORM_LC:", 10 + netlist.count('"type"'), "/ 7680")
else:
    log("route"); {body}
    print("Info: Max frequency for clock 'clk': 999.75 MHz (PASS at 400.00 MHz)")
    print("Info: Routing..")
    number = zlib.crc32((netlist + " ".join(sys.argv[1:])).encode()) % 256
    print("Info: Max frequency for clock 'clk': %d.25 MHz (FAIL at 400.00 MHz)" % (100 + number))
"""


class FakeTools:
    """Yosys and nextpnr-ice40 as scripts; `calls` counts their syntheses, packings and routings."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.log = folder, folder / "log"
        monkeypatch.setenv("YOSYS", str(folder / "yosys"))
        monkeypatch.setenv("NEXTPNR_ICE40", str(folder / "nextpnr-ice40"))
        self.install()

    def install(self, *, yosys: str = "1.0", nextpnr: str = "2.0", carry: bool = True, body: str = "pass") -> None:
        texts = {"yosys": (yosys, _YOSYS), "nextpnr-ice40": (nextpnr, _NEXTPNR)}
        for number, (tool, (version, text)) in enumerate(texts.items()):
            given = {"tool": tool, "version": version, "log": str(self.log)}
            given |= {"carry": carry, "body": body, "ports": FOREIGN_PORTS}
            program = write_program(self.folder / tool, (_COUNT + text).format_map(given))
            # A new modification time, even if the resolution of the file system is coarse.
            os.utime(program, ns=(number, time.monotonic_ns()))

    def calls(self) -> dict[str, int]:
        """The numbers of jobs since the last call, by kind."""
        lines = self.log.read_text(encoding="utf-8").split() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return dict(Counter(lines))


@pytest.fixture
def tools(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakeTools:
    return FakeTools(tmp_path_factory.mktemp("bin"), monkeypatch)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def measured(points: list[Point], **options: Any) -> list[Figure]:
    with ThreadPoolExecutor(2) as threads:
        return sweep(points, threads, **options)


EVERYTHING = {"yosys": 4, "pack": 2, "route": 6}
"""The jobs of one point with three seeds, where carry chains make a difference."""


# Measurements


@pytest.mark.smoke
def test_result_is_the_better_netlist_and_the_median_of_the_seeds(tools: FakeTools) -> None:
    [figure] = measured([POINT])
    assert figure.error is None
    assert (figure.area.cells, figure.area.luts, figure.area.flip_flops, figure.area.options) == (12, 1, 1, "")
    clocks = figure.speed.by_seed
    assert list(clocks) == [1, 2, 3]
    assert all(mhz % 1 == 0.25 for mhz in clocks.values()), "the frequency after routing, not the estimate before it"
    assert figure.speed.mhz == sorted(clocks.values())[1]
    assert figure.gigabytes_per_second == 0.5 * min(figure.speed.mhz, 275) / 1000
    assert tools.calls() == EVERYTHING


def test_result_is_the_faster_netlist(tools: FakeTools) -> None:
    for number in range(3):
        core = replace(COUNTER, sources=(("core.v", f"module counter(); // {number}\nendmodule\n"),))
        executor = Counting()
        [figure] = sweep([replace(POINT, core=core)], executor)
        clocks = [result for name, result in executor.done if name == "route"]
        medians = {"": sorted(clocks[:3])[1], "-nocarry": sorted(clocks[3:])[1]}
        assert (figure.speed.mhz, figure.speed.options) == max((mhz, options) for options, mhz in medians.items())
    assert tools.calls() == {name: 3 * calls for name, calls in EVERYTHING.items()}


def test_equal_netlists_are_placed_once(tools: FakeTools) -> None:
    tools.install(carry=False)
    [figure] = measured([POINT])
    assert figure.error is None
    assert tools.calls() == {"yosys": 4, "pack": 1, "route": 3}


def test_equal_points_share_their_jobs(tools: FakeTools) -> None:
    figures = measured([POINT, replace(POINT, device=UP5K), POINT])
    assert figures[0] == figures[2]
    assert tools.calls() == {"yosys": 4, "pack": 4, "route": 12}, "the netlist of both iCE40 is one"


# The cache


OTHER_CORE = replace(COUNTER, sources=(("core.v", "module counter(); // other\nendmodule"),))
OTHER_PACKAGE = replace(HX8K, options=("--hx8k", "--package", "cb132"))
OTHERS: dict[str, tuple[Point, dict[str, str], dict[str, int]]] = {
    "Verilog": (replace(POINT, core=OTHER_CORE), {}, EVERYTHING),
    "ports": (replace(POINT, core=replace(COUNTER, outputs=(("q", 2),))), {}, {"yosys": 2, "route": 6}),
    "additional seed": (replace(POINT, seeds=(1, 2, 3, 4)), {}, {"route": 2}),
    "package": (replace(POINT, device=OTHER_PACKAGE), {}, {"pack": 2, "route": 6}),
    "synthesis option": (replace(POINT, device=replace(HX8K, no_carry="-dff")), {}, {"yosys": 2}),
    "Yosys": (POINT, {"yosys": "1.1"}, {"yosys": 4}),
    "nextpnr": (POINT, {"nextpnr": "2.1"}, {"pack": 2, "route": 6}),
}


@pytest.mark.parametrize(("point", "versions", "expected"), tiered(OTHERS, ["Verilog", "Yosys", "nextpnr"]))
def test_changed_input_is_measured_again(
    point: Point, versions: dict[str, str], expected: dict[str, int], tools: FakeTools, cache: Cache
) -> None:
    measured([POINT], cache=cache)
    tools.calls()
    tools.install(**versions)
    measured([point], cache=cache)
    assert tools.calls() == expected
    measured([POINT, point], cache=cache)
    if not versions:
        assert tools.calls() == {}, "the older results are still there"


def test_changed_format_is_measured_again(tools: FakeTools, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    measured([POINT], cache=cache)
    tools.calls()
    monkeypatch.setattr(jobs, "FORMAT", jobs.FORMAT + 1)
    measured([POINT], cache=cache)
    assert tools.calls() == EVERYTHING


DAMAGE: dict[str, tuple[bytes, Callable[[bytes], bytes], dict[str, int]]] = {
    "empty": (b"", lambda _content: b"", EVERYTHING),
    "cut off": (b"", lambda content: content[:-9], EVERYTHING),
    "another clock": (b".25", lambda content: content.replace(b".25", b".75"), {"route": 6}),
    "another netlist": (b"luts", lambda content: content[:-1] + bytes([content[-1] ^ 1]), {"yosys": 4}),
}
"""By kind of damage: what the contents of the files contain, the change, and the jobs that are repeated."""


@pytest.mark.parametrize(("part", "damage", "expected"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_file_is_measured_again(
    part: bytes, damage: Callable[[bytes], bytes], expected: dict[str, int], tools: FakeTools, cache: Cache
) -> None:
    first = measured([POINT], cache=cache)
    tools.calls()
    for path in cache.directory.iterdir():
        if part in path.read_bytes():
            path.write_bytes(damage(path.read_bytes()))
    assert measured([POINT], cache=cache) == first
    assert tools.calls() == expected
    assert measured([POINT], cache=cache) == first
    assert tools.calls() == {}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"figures": [], "tools": 1}', '{"figures": [1], "tools": {}}'])
def test_a_file_without_figures_or_tools_has_no_recorded_ones(text: str, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    assert record.recorded(file) is None
    file.write_text('{"figures": [1], "tools": {"yosys": "1"}}', encoding="utf-8")
    assert record.recorded(file) == {"figures": [1], "tools": {"yosys": "1"}}
    file.write_text(text, encoding="utf-8")
    assert record.recorded(file) is None


@pytest.mark.parametrize("after", tiered({str(after): after for after in (1, 5, 7, 11)}, ["7"]))
def test_interrupted_sweep_repeats_no_finished_job(after: int, tools: FakeTools, cache: Cache) -> None:
    def interrupt(done: int, _total: int, _running: object) -> None:
        if done == after:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as thread, pytest.raises(KeyboardInterrupt):
        sweep([POINT], thread, cache=cache, on_progress=interrupt)
    tools.calls()
    [figure] = measured([POINT], cache=cache)
    assert sum(tools.calls().values()) == sum(EVERYTHING.values()) - after
    assert [figure] == measured([POINT])
    assert not list(cache.directory.glob(".*")), "no half-written file"


def test_cache_that_cannot_be_written(tmp_path: Path, tools: FakeTools) -> None:
    (tmp_path / "file").write_text("")
    for directory in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(CacheError, match=rf"^cannot write the cache '{directory}': (File exists|Not a directory)$"):
            Cache(directory)
    cache = Cache(tmp_path / "cache")
    (cache.directory / "key").mkdir()
    with pytest.raises(CacheError, match=r"^cannot write the cache '.*': Is a directory$"):
        cache.put("key", b"")
    assert [path.name for path in cache.directory.iterdir()] == ["key"]
    shutil.rmtree(cache.directory)
    with pytest.raises(CacheError, match=r"^cannot write the cache '.*': No such file or directory$"):
        measured([POINT], cache=cache)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
def test_full_cache(tmp_path: Path) -> None:
    """A limit on the size of files is an error like that of a full disk."""
    words = "import resource, signal, sys, pathlib; from utf8fpga.bench.cache import Cache; "
    words += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (999, 999)); "
    words += "Cache(pathlib.Path(sys.argv[1])).put('key', bytes(1000))"
    done = run([sys.executable, "-c", words, str(tmp_path)], capture_output=True, text=True)
    assert done.stderr.endswith(f"CacheError: cannot write the cache {str(tmp_path)!r}: File too large\n")
    assert not list(tmp_path.iterdir())


# Executors


class Counting(Executor):
    """An executor that runs each job immediately and records its name and result."""

    def __init__(self) -> None:
        self.done: list[tuple[str, Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
            self.done.append((fn.__name__, future.result()))
        except Exception as error:
            future.set_exception(error)
        return future


def test_executor_that_rejects_jobs(tools: FakeTools) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    seen: list[tuple[int, int, Any]] = []
    [figure] = sweep([POINT], executor, on_progress=lambda *now: seen.append(now))
    assert seen[-1][:2] == (4, 4), "nothing comes after what failed"
    assert (figure.area, figure.speed) == (None, None)
    assert figure.error == ("synthesis for ice40: RuntimeError: cannot schedule new futures after shutdown")
    assert tools.calls() == {}


def test_worker_with_other_versions_is_rejected(tools: FakeTools) -> None:
    class Elsewhere(Counting):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            tools.install(nextpnr="1.9") if fn is jobs.route else tools.install()
            return super().submit(fn, *args, **kwargs)

    [figure] = sweep([POINT], Elsewhere())
    assert figure.area is not None
    assert figure.speed is None
    assert figure.error == (
        "place and route, seed 1: nextpnr-ice40 has version 1.9 where this job runs, but version 2.0 is required"
    )


# Failures


FULL = "print('ERROR: Unable to place cell, no BELs remaining'); sys.exit(1)"
NO_ROOM = "nextpnr-ice40 failed with status 1: ERROR: Unable to place cell, no BELs remaining"


def test_failed_job_is_reported_and_the_others_continue(tools: FakeTools, cache: Cache) -> None:
    tools.install(body=f"'--up5k' in sys.argv and exec({FULL!r})")
    seen: list[tuple[int, int, Any]] = []
    figures = measured(
        [POINT, replace(POINT, device=UP5K), POINT], cache=cache, on_progress=lambda *now: seen.append(now)
    )
    assert [figure.error is None for figure in figures] == [True, False, True]
    failed = figures[1]
    assert re.fullmatch(rf"place and route, seed \d: {NO_ROOM}", failed.error)
    assert failed.area is not None
    assert (failed.speed, failed.gigabytes_per_second) == (None, None)
    assert seen[-1][0] == seen[-1][1]
    written = figures_as_dict(figures, "x")
    assert json.loads(json.dumps(written))["figures"][1]["error"] == failed.error
    assert f"- counter on up5k failed: {failed.error}" in points_table(written).splitlines()
    # Failures are not cached.
    tools.install()
    [again] = measured([failed.point], cache=cache)
    assert again.error is None


# Foreign cores


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "foreign.v"
    path.write_text(FOREIGN, encoding="utf-8")
    return path


def described(tmp_path: Path, text: str, name: str = "ports.toml") -> Any:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_description(tmp_path / name)


def test_error_in_the_log_of_yosys_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write_program(
        tmp_path / "yosys",
        "import sys\nif '--version' in sys.argv: print('yosys 1.0'); sys.exit()\n"
        "open(sys.argv[sys.argv.index('-L') + 1], 'w').write('Executing ABC9.\\nERROR: Assert `a == b\\' failed.\\n')\n"
        "sys.exit(1)\n",
    )
    monkeypatch.setenv("YOSYS", str(program))
    with pytest.raises(ToolError, match="yosys failed with status 1: ERROR: Assert `a == b' failed"):
        jobs.synthesise(jobs.Synthesis((("core.v", "module a; endmodule"),), "a", "ecp5", "", "1.0"))


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(("lanes", "suffix"), [(2, ".v"), (3, ".il")])
def test_wide_decoders_are_measured_from_rtlil(lanes: int, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A lower limit than 64 lanes, for speed.
    monkeypatch.setattr("utf8fpga.bench.design.VERILOG_LANES", 2)
    core = measured_core(DecoderParameters(lanes=lanes, packed=False))
    (name, text), *_ = core.sources
    assert name == f"core{suffix}"
    assert f"read_{'verilog' if suffix == '.v' else 'rtlil'} core{suffix}; read_verilog wrapper.v; " == read_script(
        core.between_registers[0]
    )
    assert core.top in text


INSIDE = """
package bytes_pkg;
  typedef struct packed { logic valid; logic [7:0] data; } byte_t;
endpackage
module core import bytes_pkg::*; (input logic clk, input byte_t given, output logic continues);
  always_ff @(posedge clk) continues <= given.valid && (given.data inside {[8'h80:8'hBF]});
endmodule
"""
"""SystemVerilog that Yosys's own reader rejects."""


def test_systemverilog_that_yosys_rejects_is_read_by_slang(tmp_path: Path) -> None:
    path = tmp_path / "inside.sv"
    path.write_text(INSIDE, encoding="utf-8")
    module = read_module([path])
    assert (module.inputs, module.outputs) == ({"clk": 1, "given": 9}, {"continues": 1})
    assert read_script(module.sources) == "read_slang -j 1 slang_core.sv; "
    path.write_text(INSIDE.replace("given.valid", "given.ready"), encoding="utf-8")
    assert "inside.sv:5: ERROR: syntax error" in refusal(CoreError, read_module, [path])


def test_the_verilog_is_kept_for_one_version_of_yosys(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def written(_rtlil: str, top: str) -> str:
        asked.append(top)
        return f"module {top}; endmodule"

    monkeypatch.setattr("utf8fpga.bench.design.flat.flat_verilog", written)
    for version, times in (("1.0", 1), ("1.0", 1), ("1.1", 2)):
        monkeypatch.setattr("utf8fpga.bench.design.present_version", lambda _tool, version=version: version)
        core = measured_core(DecoderParameters(), cache=cache)
        assert (len(asked), core.sources) == (times, (("core.v", f"module {core.top}; endmodule"),))


def test_ports_are_read_from_the_verilog(foreign: Path) -> None:
    core = foreign_core([foreign])
    assert (core.top, core.title, core.clock, core.reset, core.reset_low) == (*["foreign"] * 2, "clk_i", "rst_ni", True)
    assert core.inputs == (("data", 8), ("en", 1))
    assert core.outputs == (("code", 21), ("spare", 1))
    assert core.alone == (core.sources, "foreign")
    assert foreign_core([foreign], "helper").inputs == (("d", 1),)


def test_description_of_ports(foreign: Path, tmp_path: Path) -> None:
    values = {"title": "theirs", "bytes_per_clock": 0.25, "lanes": 1, "latency": 2}
    values |= {"reset": "rst_ni", "reset_active": "high", "constants": {"en": 1}, "outputs": {"code": 21}}
    core = foreign_core([foreign], "foreign", described(tmp_path, json.dumps(values), "ports.json"))
    toml = 'title = "theirs"\nbytes_per_clock = 0.25\nlanes = 1\nlatency = 2\nreset = "rst_ni"\nreset_active = "high"\n'
    toml += "constants = { en = 1 }\noutputs = { code = 21 }\n"
    assert core == foreign_core([foreign], None, described(tmp_path, toml))
    assert (core.title, core.bytes_per_clock, core.lanes, core.latency) == ("theirs", 0.25, 1, 2)
    assert core.constants == (("en", 1, 1),)
    assert (core.inputs, core.outputs, core.is_whole) == ((("data", 8),), (("code", 21),), False)
    for sources, _ in (core.between_registers, core.alone):
        assert ".en(1'd1)" in sources[-1][1]
        assert ".spare" not in sources[-1][1]
    assert ".rst_ni(reset)" in core.between_registers[0][-1][1]
    assert "reset <= rst;" in core.between_registers[0][-1][1]


def simulated(sources: tuple[tuple[str, str], ...], top: str, tmp_path: Path, script: str) -> str:
    """The output of Yosys for a module."""
    for name, text in sources:
        (tmp_path / name).write_text(text, encoding="utf-8")

    script = f"{read_script(sources)}hierarchy -check -top {top}; proc; flatten; opt; {script}"
    return run_tool("yosys", ["-p", script], directory=tmp_path)


@pytest.mark.parametrize("active", tiered({name: name for name in ("low", "high")}, ["low"]))
def test_wrapper_drives_the_reset_with_its_polarity(active: str, foreign: Path, tmp_path: Path) -> None:
    core = foreign_core([foreign], "foreign", described(tmp_path, f'reset_active = "{active}"'))
    sources, top = core.between_registers
    # After two cycles of reset the core's register is 0 for any initial contents; without reset it may differ.
    script = "sat -seq 4 -set rst {} -set-init-undef -prove-skip 3 -prove core.code 0 -ignore_unknown_cells; "
    held, free = (simulated(sources, top, tmp_path, script.format(level)) for level in (1, 0))
    always, sometimes = (held, free) if active == "low" else (free, held)
    assert "SAT proof finished - no model found: SUCCESS" in always
    assert "model found: FAIL" in sometimes


def test_escaped_names(tmp_path: Path) -> None:
    path = tmp_path / "x.v"
    path.write_text(r"module \my-core (input clk, input \a.b , output \c+d ); assign \c+d = \a.b ; endmodule")
    core = foreign_core([path])
    assert (core.top, core.inputs, core.outputs) == ("my-core", (("a.b", 1),), (("c+d", 1),))
    sources, top = core.between_registers
    simulated(sources, top, tmp_path, "check -assert")


INVALID_PORTS = {
    "unknown key": ("clocks = 1", "unknown key 'clocks' (known: clock, reset, "),
    "clock is a number": ("clock = 1", "clock = 1 is not a string"),
    "no lanes": ("lanes = 0", "lanes = 0 is not above 0"),
    "width is a string": ("inputs = { a = '8' }", "inputs = {'a': '8'} is not a table of names and numbers"),
    "reset level": ("reset_active = 'up'", "reset_active = 'up' is neither 'high' nor 'low'"),
    "unknown clock": ("clock = 'ck'", "foreign has no input 'ck' for its clock (inputs: clk_i, rst_ni, data, en)"),
    "unknown reset": ("reset = 'rst'", "foreign has no input 'rst' for its reset (inputs: rst_ni, data, en)"),
    "unknown constant": ("constants = { e = 1 }", "foreign has no input 'e' to tie off (inputs: data, en)"),
    "large constant": ("constants = { en = 2 }", "2 does not fit into the 1 bits of the input 'en'"),
    "another width": ("inputs = { data = 7, en = 1 }", "the input 'data' of foreign has 8 bits, not 7"),
    "missing input": ("inputs = { data = 8 }", "the input 'en' of foreign is neither among inputs nor among constants"),
}


@pytest.mark.parametrize(("text", "message"), INVALID_PORTS.values(), ids=INVALID_PORTS)
def test_invalid_description_is_rejected(text: str, message: str, foreign: Path, tmp_path: Path) -> None:
    said = refusal(CoreError, lambda: foreign_core([foreign], None, described(tmp_path, text)))
    assert message in said
    assert re.match(rf"{tmp_path}/(ports.toml|foreign.v)(:| is not)", said)


INVALID_CORES = {
    "input a, output b": "no input of m has the name of a clock (inputs: a): specify it with --ports",
    "input clk, input aclk, output b": "m may have the clock clk or aclk: specify it with --ports",
    "input clk, input rst, input aresetn, input a, output b": "m may have the reset rst or aresetn: "
    "specify it with --ports",
    "input clk, inout a, output b": "m has the port 'a' that is input and output, which is not supported",
    "input clk input": ":1: ERROR: syntax error",
}
"""By ports of a module: the error."""


@pytest.mark.parametrize(("ports", "message"), INVALID_CORES.items(), ids=INVALID_CORES)
def test_unsupported_core_is_rejected(ports: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.v"
    path.write_text(f"module m({ports}); endmodule")
    expected = f"{path}{message}" if message.startswith(":") else f"{path}: {message}"
    assert refusal(CoreError, foreign_core, [path], "m").startswith(expected)


@pytest.mark.build
def test_foreign_core_with_the_real_tools(foreign: Path, tmp_path: Path) -> None:
    core = foreign_core([foreign], None, described(tmp_path, "constants = { en = 1 }\noutputs = { code = 21 }"))
    figures = measured([Point(core, device, (1,)) for device in (HX8K, ECP5)])
    for figure in figures:
        assert figure.error is None
        assert figure.area.flip_flops == 21, "of the helper nothing is left"
        assert 250 < figure.speed.mhz < 700


# Tables and the plot


def recorded(lanes: int, mhz: float | None, *, series: str = "parallel", packed: bool = False) -> dict[str, Any]:
    """A row in the form of a sweep's result."""
    core = replace(COUNTER, title="x", series=series, lanes=lanes, packed=packed, bytes_per_clock=lanes, latency=4)
    area = Area(100 * lanes, 77 * lanes, 50 * lanes, "")
    speed = None if mhz is None else Speed(mhz, {1: mhz - 1, 2: mhz, 3: mhz + 1.6}, "")
    return Figure(Point(core, ECP5, (1, 2, 3)), area, speed, None if speed else "it is full").as_dict()


OVER_LANES = {
    "command": "utf8fpga bench",
    "tools": {"yosys": "1.0"},
    "figures": [recorded(1, 250.0, series="serial"), *(recorded(1 << n, 270.0 - 5 * n) for n in range(9))],
}
LANES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
GIGABYTES = [0.257, 0.514, 1.028, 2.04, 4.0, 7.84, 15.36, 30.08, 58.88]
"""The throughput at 270, 265 and 260 MHz, of which 257 MHz are usable, at 255 MHz and so on."""


def same_point(**changes: Any) -> Point:
    core = replace(COUNTER, design="d1", latency=9)
    return replace(Point(core, ECP5, (1, 2, 3)), **changes)


@pytest.fixture
def earlier() -> dict[str, Any]:
    area, speed = Area(100, 77, 50, ""), Speed(281.5, {1: 280.0, 2: 281.5, 3: 290.0}, "-noccu2")
    point = replace(same_point(), core=replace(COUNTER, design="d1", title="old", latency=8))
    return figures_as_dict([Figure(point, area, speed, None)], "utf8fpga bench")


def test_a_figure_is_kept_while_circuit_seeds_and_tools_are_the_same(earlier: dict[str, Any]) -> None:
    # As it is read from a file.
    figure = kept_figure(same_point(), [json.loads(json.dumps(earlier))])
    assert figure.as_dict() == earlier["figures"][0] | {"title": COUNTER.title, "latency": 9}


def test_a_figure_of_another_point_of_other_tools_or_a_failed_one_is_not_kept(earlier: dict[str, Any]) -> None:
    another: list[dict[str, Any]] = [{"core": replace(COUNTER, design="d2")}, {"device": HX8K}]
    for changes in (*another, {"seeds": (1, 2)}, {"seeds": (1, 2, 4)}):
        assert kept_figure(same_point(**changes), [earlier]) is None
    failed = earlier["figures"][0] | {"speed": None, "error": "it is full"}
    for changes in ({"tools": {"yosys": "0.1"}}, {"format": 0}, {"figures": [failed]}):
        assert kept_figure(same_point(), [earlier | changes]) is None


def usable(device: Device, mhz: float) -> float | None:
    return Figure(Point(COUNTER, device, (1,)), None, Speed(mhz, {1: mhz}, ""), None).usable_mhz


def test_usable_clock_is_at_most_that_of_the_clock_network() -> None:
    # FPGA-DS-02029 and FPGA-DS-02008, fMAX_GBUF; FPGA-DS-02012, fMAX_PRI.
    limits = {HX8K: 275, UP5K: 185, ECP5: 257, ECP5_8: 370}
    for device, mhz in limits.items():
        assert [usable(device, reached) for reached in (mhz - 0.5, mhz, mhz + 0.5)] == [mhz - 0.5, mhz, mhz]
    assert [device.limit.is_checked for device in limits] == [True, True, False, False]
    assert [line.split(" | ")[1] for line in limits_table().splitlines()[2:]] == [f"{mhz}" for mhz in limits.values()]
    unchecked = [line.endswith("from memory, not checked |") for line in limits_table().splitlines()[2:]]
    assert unchecked == [False, False, True, True]


@pytest.mark.smoke
def test_table_of_points() -> None:
    figures = OVER_LANES | {"figures": [recorded(64, 280.0), recorded(2, None, packed=True)]}
    assert points_table(figures).splitlines()[2:] == [
        "| ECP5-85F speed 6 | x | 64 | sparse | 4 | 6400 | 4928 | 3200 | 77 | 257 | 280 (279..282) | 16.45 |",
        "| ECP5-85F speed 6 | x | 2 | packed | 4 | 200 | 154 | 100 | 77 | - | - | - |",
        "",
        "Median of 3 seeds; MHz at most those of the clock network (not checked: ECP5-85F speed 6); "
        "GB/s on the worst input. yosys 1.0; written by `utf8fpga bench`.",
        "",
        "- x on ecp5-85k failed: it is full",
    ]
    json.dumps(figures)


@pytest.fixture(scope="module")
def plots() -> Any:
    """The axes of throughput and area per lane of `OVER_LANES` in matplotlib."""
    pytest.importorskip("matplotlib", reason="requires the extra 'plots'")
    return draw_scaling(OVER_LANES).axes


SOFTWARE = {
    "processor": "some processor",
    "software": [
        {"text": "a", "bytes": 9, "plain": 3e6, "arrays": 1e8, "codec": 5e8},
        {"text": "b", "bytes": 9, "plain": 3e6, "arrays": 2e8, "codec": 4e8},
    ],
}


def test_plot_shows_only_recorded_figures_of_software(plots: Any) -> None:
    left, right = draw_scaling(OVER_LANES, SOFTWARE).axes
    assert [text.get_text() for text in left.texts] == [
        "CPython, one core: 0.4 to 0.5",
        "decode_array, one core: 0.1 to 0.2",
    ]
    assert left.get_ylim()[0] < 0.1
    assert not [*right.texts, *plots[0].texts, *plots[0].patches]
    assert drawn_digest(OVER_LANES, SOFTWARE) != drawn_digest(OVER_LANES)


def test_plots_have_the_figures(plots: Any) -> None:
    for axes, serial, parallel in zip(plots, (0.25, 77), (GIGABYTES, [77] * len(LANES)), strict=True):
        shown = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines}
        assert shown["serial, ECP5-85F speed 6"] == ([1], [pytest.approx(serial)])
        assert shown["parallel, ECP5-85F speed 6"] == (LANES, pytest.approx(parallel))


@pytest.mark.usefixtures("plots")
def test_plot_file_has_the_digest_and_is_reproducible() -> None:

    code = "import sys, json; from utf8fpga.bench.plot import scaling_plot; "
    code += "sys.stdout.buffer.write(scaling_plot(json.load(sys.stdin)))"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "LANG": "C"}
    given = json.dumps(OVER_LANES).encode()
    done = run([sys.executable, "-c", code], input=given, stdout=subprocess.PIPE, env=environment, check=True)
    first, second = scaling_plot(OVER_LANES).decode(), done.stdout.decode()
    root = ElementTree.fromstring(first)
    assert (root.findtext("{http://www.w3.org/2000/svg}title") or "").startswith("Throughput at the usable clock")
    assert "prefers-color-scheme:dark" in first
    assert f"<dc:description>{drawn_digest(OVER_LANES)}</dc:description>" in first
    assert "<dc:date>" not in first
    # Only the last digits of coordinates may differ.
    number = r"(?<![\w#])-?\d+(\.\d+)?"
    assert re.sub(number, "0", first) == re.sub(number, "0", second)


@pytest.mark.usefixtures("plots")
def test_plot_without_data_is_rejected() -> None:
    nothing = OVER_LANES | {"figures": [recorded(1, None)]}
    assert refusal(PlotError, scaling_plot, nothing) == "nothing to plot: no figure has lanes, area and GB/s"


def test_missing_matplotlib_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert refusal(PlotError, scaling_plot, OVER_LANES) == "matplotlib is not installed: pip install 'utf8fpga[plots]'"


# The command


def bench(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    done = utf8fpga("bench", *arguments, **options)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


_LANES = "must be numbers in 1..256, such as 1,4,16"
_SEEDS = "must be N or A-B, with 1 to 100 seeds"
INCORRECT_USE = {
    "--lanes 0": f"--lanes '0' {_LANES}",
    "--seeds 0": f"--seeds '0' {_SEEDS}",
    "--top x": "--top describes a core of --against: give --against FILE",
    "--against /nonexistent.v": "cannot read '/nonexistent.v': No such file or directory",
    "--record . --lanes 1": "--record measures the cores in the README: leave out the options that select a core",
    "--record . --plot x": "--record writes the plot in the checkout: leave out --plot x",
    "--cache /dev/null": "cannot write the cache '/dev/null': File exists",
    "--again": "--again requires --record",
}


@pytest.mark.parametrize(("arguments", "message"), INCORRECT_USE.items(), ids=INCORRECT_USE)
def test_incorrect_use_is_one_line_and_status_2(arguments: str, message: str, tmp_path: Path) -> None:
    done = bench("--cache", tmp_path / "cache", *arguments.split())
    if extra := re.search(r"is not installed: .*pip install 'utf8fpga\[(\w+)\]'", done.stderr):
        pytest.skip(f"requires the extra {extra[1]!r}")
    assert (done.stderr, done.stdout, done.returncode) == (f"utf8fpga: {message}\n", "", 2)


@pytest.mark.usefixtures("plots")
def test_plot_that_cannot_be_written_is_reported_before_the_measurement(tmp_path: Path) -> None:
    # A measurement would need this tool.
    environment = {**os.environ, "NEXTPNR_ICE40": "/nonexistent"}
    for plot, reason in ((tmp_path, "Is a directory"), (tmp_path / "none" / "x.svg", "No such file or directory")):
        done = bench("--plot", plot, "--device", "hx8k", "--cache", tmp_path / "cache", env=environment)
        assert done.stderr == f"utf8fpga: cannot write '{plot}': {reason}\n"
        assert (done.stdout, done.returncode) == ("", 2)
    (tmp_path / "plot.svg").write_text("before")
    bench("--plot", tmp_path / "plot.svg", "--device", "hx8k", env=environment)
    assert (tmp_path / "plot.svg").read_text() == "before"


@pytest.mark.usefixtures("tools")  # YoWASP's tools would first compile themselves into the empty cache.
def test_default_cache_is_the_cache_of_the_user(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "mine"), "NEXTPNR_ICE40": "/nonexistent"}
    done = bench("--device", "hx8k", env=environment)
    assert done.stderr == "utf8fpga: NEXTPNR_ICE40 names '/nonexistent', which is not a program\n"
    assert done.returncode == 1
    if sys.platform == "linux":
        assert (tmp_path / "mine" / "utf8fpga" / "bench").is_dir()


@pytest.mark.usefixtures("plots")
def test_foreign_core_in_the_command(foreign: Path, tools: FakeTools, tmp_path: Path) -> None:
    (tmp_path / "ports.toml").write_text("bytes_per_clock = 0.5\nlanes = 1\n")
    words = ["--device", "hx8k", "--lanes", "1", "--seeds", "2-4", "--cache", tmp_path / "cache", "--jobs", "1"]
    words += ["--against", foreign, "--top", "foreign", "--ports", tmp_path / "ports.toml"]
    done = bench(*words, "--json", "--plot", tmp_path / "plot.svg")
    assert (done.stderr, done.returncode) == ("", 0)
    figures = json.loads(done.stdout)
    assert figures["command"] == (
        "utf8fpga bench --device hx8k --lanes 1 --seeds 2-4 --against foreign.v --top foreign --ports ports.toml"
    )
    ours, theirs = figures["figures"]
    assert (ours["title"], ours["series"], ours["bytes_per_clock"]) == ("serial, 1 lane", "serial", 1)
    assert (theirs["title"], theirs["series"], theirs["bytes_per_clock"]) == ("foreign", "", 0.5)
    assert list(theirs["speed"]["by_seed"]) == ["2", "3", "4"]
    assert theirs["gigabytes_per_second"] == 0.0005 * min(theirs["speed"]["mhz"], 275)
    assert figures["clock_limits"]["hx8k"]["mhz"] == 275
    ElementTree.parse(tmp_path / "plot.svg")
    tools.calls()
    again = bench(*words)
    assert again.stdout == points_table(figures) + "\n"
    assert tools.calls() == {}, "all was kept"


def test_failed_points_have_exit_status_1(foreign: Path, tools: FakeTools, tmp_path: Path) -> None:
    tools.install(body=f"'--up5k' in sys.argv and exec({FULL!r})")
    words = [
        "--device",
        "hx8k",
        "--device",
        "up5k",
        "--seeds",
        "1",
        "--optimize",
        "area",
        "--cache",
        tmp_path / "cache",
    ]
    done = bench(*words)
    assert done.returncode == 1
    failed = "serial, 1 lane, area on up5k{} place and route, seed 1: " + NO_ROOM
    assert done.stderr == f"utf8fpga: 1 of 2 points failed, the first {failed.format(':')}\n"
    assert done.stdout.splitlines()[-1] == f"- {failed.format(' failed:')}"


@pytest.mark.usefixtures("tools")
@pytest.mark.filterwarnings("default")  # warnings of the cluster itself
def test_command_with_a_cluster(cluster: str, tmp_path: Path) -> None:
    words = ["--device", "hx8k", "--lanes", "1", "--seeds", "1", "--json"]
    there = bench(*words, "--dask", cluster, "--cache", tmp_path / "there")
    here = bench(*words, "--cache", tmp_path / "here")
    assert (there.stdout, there.stderr, there.returncode) == (here.stdout, "", 0)


def test_interrupt_ends_the_tools_and_keeps_the_results(tools: FakeTools, tmp_path: Path) -> None:
    tools.install(body="import os, time; log(str(os.getpid())); time.sleep(1000)", carry=False)
    words = ["--device", "hx8k", "--lanes", "1", "--seeds", "2", "--jobs", "2", "--cache", str(tmp_path / "cache")]
    with started(
        [*COMMAND, "bench", *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:

        def numbers() -> list[int]:
            return [int(line) for line in tools.log.read_text().split() if line.isdecimal()]

        wait_until(lambda: tools.log.exists() and len(numbers()) == 2, process, expected="place and route")
        routers = numbers()
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=LIMIT_SECONDS)
        wait_until(lambda: not any(map(is_running, routers)), expected="end of the tools")
    assert (printed, said, process.returncode) == ("", "utf8fpga: interrupted\n", 130)
    assert any(b"luts" in path.read_bytes() for path in (tmp_path / "cache").iterdir()), "the netlists are kept"
