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
FULL = "utf8fpga: cannot write standard output: No space left on device\n"
CLOSED = "utf8fpga: cannot write standard output: it is closed\n"

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
@pytest.mark.parametrize("command", ["decode long", "table", "simulate --json text", "prove --list", "--help"])
def test_a_full_standard_output(command: str, folder: Path) -> None:
    done = bash(f"utf8fpga {command} >/dev/full", folder)
    assert (done.stderr, done.returncode) == (FULL, 1)


@pytest.mark.parametrize("command", ["decode --summary text", "vectors", "simulate text -o -", "boards", "--version"])
def test_a_closed_standard_output(command: str, folder: Path) -> None:
    done = bash(f"utf8fpga {command} >&-", folder)
    assert (done.stderr, done.returncode) == (CLOSED, 1)


@pytest.mark.parametrize("command", ["simulate --lanes 4 text", "generate --lanes 4 -o core.v", "decode text"])
def test_nothing_on_standard_error_of_a_command_that_succeeds(command: str, folder: Path) -> None:
    done = bash(f"utf8fpga {command}", folder)
    assert (done.stderr, done.returncode) == ("", 0)


def test_the_input_is_not_overwritten(folder: Path) -> None:
    before = (folder / "text").read_bytes()
    done = bash("utf8fpga decode text -o ./text", folder)
    message = "utf8fpga: -o './text' is the file that is read: give another name\n"
    assert (done.stderr, done.returncode, (folder / "text").read_bytes()) == (message, 2, before)


@pytest.mark.parametrize("command", ["decode", "decode -", "simulate -"])
def test_a_closed_standard_input(command: str, folder: Path) -> None:
    done = bash(f"utf8fpga {command} <&-", folder)
    message = "utf8fpga: cannot read '-': standard input is closed\n"
    assert (done.stdout, done.stderr, done.returncode) == ("", message, 2)


@pytest.mark.parametrize("stream", ["2>&-", pytest.param("2>/dev/full", marks=needs_full)])
def test_standard_error_that_cannot_be_written(stream: str, folder: Path) -> None:
    done = bash(f"utf8fpga decode nothing {stream}; echo $?; utf8fpga decode text {stream}; echo $?", folder)
    assert (done.stdout, done.stderr) == ("2\nné\n0\n", "")


def test_all_standard_streams_closed(folder: Path) -> None:
    done = bash("(utf8fpga decode text -o out <&- >&- 2>&-); echo $?; (utf8fpga table <&- >&- 2>&-); echo $?", folder)
    assert (done.stdout, (folder / "out").read_text("utf-8")) == ("0\n1\n", "né\n")


@needs_descriptors
@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_standard_output_by_name(name: str, folder: Path) -> None:
    """In a pipe, and in a file to which other processes write before and after."""
    assert bash(f"utf8fpga decode text -o {name} | cat", folder).stdout == "né\n"
    bash(f"(echo before; utf8fpga decode text -o {name}; echo after) >out", folder)
    assert (folder / "out").read_text("utf-8") == "before\nné\nafter\n"


@needs_descriptors
@pytest.mark.parametrize("command", ["decode text", "simulate text", "table --table UTF-16"])
def test_process_substitution(command: str, folder: Path) -> None:
    done = bash(f"utf8fpga {command} -o >(cat >out; echo >done); until [ -e done ]; do sleep 0.1; done", folder)
    assert (done.stderr, done.returncode) == ("", 0)
    assert (folder / "out").read_text("utf-8").startswith("UTF-16: " if "table" in command else "né\n")


@needs_full
def test_full_disk_has_exit_status_1(folder: Path) -> None:
    done = bash("utf8fpga decode text -o /dev/full", folder)
    message = "utf8fpga: cannot write '/dev/full': No space left on device\n"
    assert (done.stdout, done.stderr, done.returncode) == ("", message, 1)


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


@pytest.mark.parametrize(
    ("command", "number"),
    tiered(
        {
            f"{command}-{number.name}": (command, number)
            for command in ("decode", "simulate")
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        },
        ["decode-SIGHUP", "simulate-SIGTERM", "decode-SIGINT"],
    ),
)
def test_signal_leaves_no_incomplete_file(command: str, number: signal.Signals, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    options = ["-o", "out"] + (["--vcd", "wave"] if command == "simulate" else [])
    with running(command, "fifo", *options, folder=tmp_path) as process, (tmp_path / "fifo").open("wb") as fifo:
        fifo.write(b"some text")
        fifo.flush()
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2, process, expected="its file")
        process.send_signal(number)
        is_ctrl_c = number == signal.SIGINT
        assert process.communicate() == ("", f"utf8fpga: {'interrupted' if is_ctrl_c else 'terminated'}\n")
    assert process.returncode == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


TOOL = """#!{python}
import os, pathlib, tempfile, time
tempfile.mkdtemp()
pathlib.Path({pid!r}).write_text(str(os.getpid()))
while True:
    time.sleep(1)
"""


def test_sigterm_ends_the_tools_and_removes_their_files(tmp_path: Path) -> None:
    tool, pid, temporary = tmp_path / "yosys", tmp_path / "pid", tmp_path / "temporary"
    tool.write_text(TOOL.format(python=sys.executable, pid=str(pid)))
    tool.chmod(0o755)
    temporary.mkdir()
    (tmp_path / "core.v").write_text("module utf8_decoder; endmodule\n")
    with running("check", "core.v", folder=tmp_path, YOSYS=str(tool), TMPDIR=str(temporary)) as process:
        wait_until(lambda: pid.exists() and pid.read_text(), process, expected="the tool")
        process.send_signal(signal.SIGTERM)
        assert process.communicate() == ("", "utf8fpga: terminated\n")
    assert process.returncode == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert not list(temporary.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["core.v", "pid", "temporary", "yosys"]
