# SPDX-License-Identifier: BSD-2-Clause
"""Standard streams that are full, closed or given by name, files that are pipes, and signals during a command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from support.processes import run, started, wait_until
from support.tiers import tiered

COMMAND = f"{sys.executable} -m utf8fpga"
FULL = "utf8fpga: cannot write: No space left on device\n"

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
needs_descriptors = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there is no /dev/fd here")


def bash(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a bash command line in which `utf8fpga` is this command."""
    line = f'utf8fpga() {{ {COMMAND} "$@"; }}; {line}'
    return run(["bash", "-c", line], capture_output=True, text=True, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "text").write_bytes("né\n".encode())
    (tmp_path / "long").write_bytes("né\n".encode() * 30_000)
    return tmp_path


@needs_full
@pytest.mark.parametrize("command", ["decode long", "table", "simulate --json text", "boards", "--help"])
def test_a_full_standard_output(command: str, folder: Path) -> None:
    done = bash(f"utf8fpga {command} >/dev/full", folder)
    assert (done.stderr, done.returncode) == (FULL, 1)


@pytest.mark.parametrize("command", ["decode long", "boards --all"])
def test_a_reader_that_closes_the_pipe(command: str, folder: Path) -> None:
    done = bash(f"utf8fpga {command} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}", folder)
    assert (done.stderr, done.stdout in ("141\n", "0\n")) == ("", True)


@pytest.mark.parametrize("command", ["simulate --lanes 4 text", "generate --lanes 4 -o core.v", "decode text"])
def test_nothing_on_standard_error_of_a_command_that_succeeds(command: str, folder: Path) -> None:
    done = bash(f"utf8fpga {command}", folder)
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_closed_stream_is_empty(folder: Path) -> None:
    done = bash("utf8fpga decode text -o out <&- >&- 2>&-; echo $?; utf8fpga decode <&-; utf8fpga table >&-", folder)
    assert (done.stdout, done.stderr, (folder / "out").read_text("utf-8")) == ("0\n", "", "né\n")


@needs_descriptors
@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_standard_output_by_name(name: str, folder: Path) -> None:
    """In a pipe, and in a file to which other processes write before and after."""
    assert bash(f"utf8fpga decode text -o {name} | cat", folder).stdout == "né\n"
    bash(f"(echo before; utf8fpga decode text -o {name}; echo after) >out", folder)
    assert (folder / "out").read_text("utf-8") == "before\nné\nafter\n"


@needs_descriptors
@pytest.mark.parametrize("command", ["decode text", "table --table utf-16"])
def test_process_substitution(command: str, folder: Path) -> None:
    done = bash(f"utf8fpga {command} -o >(cat >out; echo >done); until [ -e done ]; do sleep 0.1; done", folder)
    assert (done.stderr, done.returncode) == ("", 0)
    assert (folder / "out").read_text("utf-8").startswith("UTF-16: " if "table" in command else "né\n")


@needs_full
def test_a_full_disk(folder: Path) -> None:
    done = bash("utf8fpga decode text -o /dev/full", folder)
    message = "utf8fpga: '/dev/full': No space left on device\n"
    assert (done.stdout, done.stderr, done.returncode) == ("", message, 2)


# Signals.


def running(
    *arguments: str, folder: Path, inherits_signals: bool = False, **environment: str
) -> AbstractContextManager[subprocess.Popen[str]]:
    """The command as a running process."""
    return started(
        [sys.executable, "-m", "utf8fpga", *arguments],
        inherits_signals=inherits_signals,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | environment,
    )


@pytest.mark.parametrize("number", tiered({each: each for each in ("SIGTERM", "SIGHUP", "SIGINT")}, ["SIGINT"]))
def test_signal_leaves_no_incomplete_file(number: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with running("decode", "fifo", "-o", "out", folder=tmp_path) as process, (tmp_path / "fifo").open("wb") as fifo:
        fifo.write(b"some text")
        fifo.flush()
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2, process, expected="its file")
        process.send_signal(signal.Signals[number])
        assert process.communicate() == ("", "utf8fpga: interrupted\n")
    assert process.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


TOOL = """#!{python}
import os, pathlib, time
pathlib.Path({pid!r}).write_text(str(os.getpid()))
while True:
    time.sleep(1)
"""


def test_sigterm_ends_the_tools(tmp_path: Path) -> None:
    tool, pid = tmp_path / "yosys", tmp_path / "pid"
    tool.write_text(TOOL.format(python=sys.executable, pid=str(pid)))
    tool.chmod(0o755)
    (tmp_path / "core.v").write_text("module utf8_decoder; endmodule\n")
    with running("check", "core.v", folder=tmp_path, YOSYS=str(tool)) as process:
        wait_until(lambda: pid.exists() and pid.read_text(), process, expected="the tool")
        process.send_signal(signal.SIGTERM)
        assert process.communicate() == ("", "utf8fpga: interrupted\n")
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["core.v", "pid", "yosys"]
