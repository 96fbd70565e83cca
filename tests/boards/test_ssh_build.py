# SPDX-License-Identifier: BSD-2-Clause
"""Builds on another host, which is an SSH server in this process with a separate home folder."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.builds import STAND_INS, Built
from support.oracle import refusal
from support.processes import run
from support.tiers import tiered

from utf8fpga.boards.build import BuildError, build_board
from utf8fpga.boards.ssh_build import Host
from utf8fpga.hdl.toolchain import find_tool

asyncssh = pytest.importorskip("asyncssh", reason="asyncssh is not installed")

TOOLS = ("yosys", "nextpnr-ice40", "icepack")


class Login(asyncssh.SSHServer):
    """Accepts one key of one user."""

    def __init__(self, user_key: Any) -> None:
        self.user_key = user_key

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: Any) -> bool:
        return bool(username == "builder" and key == self.user_key.convert_to_public())


class Server:
    """An SSH server on a port of this machine, which runs commands in the home folder and gives access to its files."""

    def __init__(self, home: Path, user_key: Any) -> None:
        self.home, self.path, self.cache = home, "/usr/bin:/bin", os.environ["XDG_CACHE_HOME"]
        self.commands: list[str] = []
        self.host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._listener = self._wait(self._listen(user_key))
        self.port = self._listener.get_port()

    async def _listen(self, user_key: Any) -> Any:
        return await asyncssh.create_server(
            lambda: Login(user_key),
            "127.0.0.1",
            0,
            server_host_keys=[self.host_key],
            process_factory=self._run,
            sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=str(self.home).encode()),
            encoding=None,
        )

    def _wait(self, action: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(action, self._loop).result()

    async def _run(self, process: Any) -> None:
        command = process.command.decode() if isinstance(process.command, bytes) else process.command
        self.commands.append(command)
        environment = {"HOME": str(self.home), "PATH": self.path, "XDG_CACHE_HOME": self.cache}
        shell = ["/bin/sh", "-c", command]
        done = await asyncio.to_thread(run, shell, cwd=self.home, env=environment, capture_output=True)
        process.stdout.write(done.stdout + done.stderr)
        process.exit(done.returncode)

    async def _close(self) -> None:
        self._listener.close()
        await self._listener.wait_closed()

    def close(self) -> None:
        """Accept no further connection."""
        self._wait(self._close())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with a known host key and access for the user, whose home is another folder."""
    user = tmp_path / "user"
    (user / ".ssh").mkdir(parents=True)
    home = tmp_path / "host's home"
    home.mkdir()
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(user / ".ssh" / "id_ed25519"))
    # The compiled tools of YoWASP are shared by all home folders.
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")))
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    started = Server(home, key)
    line = f"[127.0.0.1]:{started.port} {started.host_key.export_public_key().decode()}"
    (user / ".ssh" / "known_hosts").write_text(line)
    yield started
    started.close()


def host(server: Server, tools: str | None = None, user: str = "builder") -> Host:
    return Host.parse(f"{user}@127.0.0.1:{server.port}", tools)


def install(folder: Path, names: dict[str, str]) -> None:
    """Write programs that print their version with `--version` and otherwise run the given script."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in names.items():
        (folder / name).write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo {name} 7.1 && exit\n{body}\n')
        (folder / name).chmod(stat.S_IRWXU)


GOOD = STAND_INS | {"yosys": "echo synthesised > top.rpt; [ -f top.il ]", "icepack": "printf bitstream > top.bin"}


def as_yowasp(names: dict[str, str]) -> dict[str, str]:
    return {f"yowasp-{name}": body for name, body in names.items()}


@pytest.mark.build
def test_bitstream_of_a_host_is_the_same(server: Server, tmp_path: Path, shared_build: Callable[[str], Built]) -> None:
    built = shared_build("icebreaker")
    here = built.report
    # The folders of the tools are the same for all users of this machine.
    server.path = os.environ["PATH"]
    profile = "".join(f"export {tool.upper().replace('-', '_')}='{find_tool(tool)}'\n" for tool in TOOLS)
    (server.home / ".profile").write_text(profile)
    said: list[str] = []
    there = build_board("icebreaker", tmp_path / "there", host=host(server), say=said.append)
    assert there.bitstream.read_bytes() == here.bitstream.read_bytes()
    assert there.program == f"iceprog {there.bitstream}"
    of_the_directory = {"bitstream": None, "program": None}
    assert there.as_dict() | of_the_directory == here.as_dict() | of_the_directory
    assert said == ["icebreaker: build on builder@127.0.0.1 (yosys, nextpnr-ice40, icepack)"]
    assert {p.name for p in (built.directory / "icebreaker").iterdir()} <= {
        p.name for p in (tmp_path / "there" / "icebreaker").iterdir()
    }
    assert [p.name for p in server.home.iterdir()] == [".profile"], "nothing is left there"


@pytest.mark.parametrize(
    ("tools", "names"),
    tiered(
        {
            f"{tools}-{kind}": (tools, names)
            for tools in ("bin with spaces", "~/bin with spaces", "absolute", None)
            for kind, names in {"plain": GOOD, "YoWASP": as_yowasp(GOOD)}.items()
        },
        ["bin with spaces-plain", "~/bin with spaces-YoWASP", "absolute-plain", "None-YoWASP"],
    ),
)
def test_tools_on_the_host_are_found(names: dict[str, str], tools: str | None, server: Server, tmp_path: Path) -> None:
    folder = server.home / "bin with spaces"
    install(folder, names)
    if tools is None:
        server.path = f"{folder}:{server.path}"
    if tools == "absolute":
        tools = str(folder)
    report = build_board("icebreaker", tmp_path / "out", host=host(server, tools))
    assert report.bitstream.read_bytes() == b"bitstream"
    assert (report.logic_cells, report.flip_flops, report.fmax_mhz) == (1, 1, 50.0)
    assert list(report.tools.items())[:2] == [("yosys", "7.1"), ("nextpnr-ice40", "7.1")]
    assert list(report.tools)[2:] == ["amaranth", "amaranth-boards"]
    assert (tmp_path / "out" / "icebreaker" / "top.rpt").read_text() == "synthesised\n"
    assert [p.name for p in server.home.iterdir()] == ["bin with spaces"]


@pytest.mark.parametrize("is_explicit", [False, True])
def test_settings_of_the_user_for_a_host(is_explicit: bool, server: Server, tmp_path: Path) -> None:
    install(server.home / "bin", GOOD)
    folder = Path(os.environ["HOME"]) / ".ssh"
    (folder / "id_ed25519").rename(folder / "another")
    user, port, text = "builder", server.port, "farm"
    if is_explicit:
        user, port, text = "stranger", 1, f"builder@farm:{server.port}"
    config = f"Host farm\n  HostName 127.0.0.1\n  Port {port}\n  User {user}\n  IdentityFile ~/.ssh/another\n"
    (folder / "config").write_text(config)
    report = build_board("icebreaker", tmp_path / "out", host=Host.parse(text, "bin"))
    assert report.bitstream.read_bytes() == b"bitstream"


def fails(server: Server, tmp_path: Path, where: Host | None = None) -> str:
    """The message of a build that fails; checks that an older bitstream is unchanged and the host has no files."""
    before = {p.name for p in server.home.iterdir()}
    out = tmp_path / "out"
    out.mkdir()
    (out / "icebreaker.bin").write_bytes(b"older")
    message = refusal(BuildError, build_board, "icebreaker", out, host=where or host(server, "bin"))
    assert (out / "icebreaker.bin").read_bytes() == b"older"
    assert not (out / "icebreaker.json").exists()
    assert {p.name for p in server.home.iterdir()} == before
    return message.replace(str(tmp_path), "TMP")


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        (
            {name: body for name, body in GOOD.items() if name != "nextpnr-ice40"},
            "builder@127.0.0.1 has no nextpnr-ice40: install it there, or specify its folder with --host-tools",
        ),
        (
            GOOD | {"nextpnr-ice40": "echo log > top.tim; echo ERROR: too big >&2; exit 3"},
            "the build on builder@127.0.0.1 failed with status 3: ERROR: too big; see TMP/out/icebreaker/top.tim",
        ),
        (
            GOOD | {"nextpnr-ice40": GOOD["nextpnr-ice40"].replace("50.0", "0.5")},
            "timing is not met: 0.50 MHz reached, 1.5 MHz required (another seed or pipeline may help); "
            "see TMP/out/icebreaker/top.tim",
        ),
        (GOOD | {"icepack": "true"}, "icepack wrote no bitstream; see TMP/out/icebreaker"),
    ],
)
def test_failures_on_the_host(programs: dict[str, str], message: str, server: Server, tmp_path: Path) -> None:
    install(server.home / "bin", programs)
    assert fails(server, tmp_path) == f"icebreaker: {message}"
    log = tmp_path / "out" / "icebreaker" / "top.tim"
    assert "top.tim" not in message or log.exists()


def test_earlier_bitstream_is_not_used(server: Server, tmp_path: Path) -> None:
    install(server.home / "bin", GOOD)
    build_board("icebreaker", tmp_path / "out", host=host(server, "bin"))
    (tmp_path / "out" / "icebreaker" / "top.bin").write_bytes(b"stale")
    install(server.home / "bin", GOOD | {"icepack": "true"})
    with pytest.raises(BuildError, match="wrote no bitstream"):
        build_board("icebreaker", tmp_path / "out", host=host(server, "bin"))


def test_user_without_access(server: Server, tmp_path: Path) -> None:
    message = fails(server, tmp_path, host(server, "bin", user="stranger"))
    assert re.match(r"icebreaker: stranger@127\.0\.0\.1: .*[Aa]uthentication", message)
    assert not server.commands


def test_unknown_host_key(server: Server, tmp_path: Path) -> None:
    (Path(os.environ["HOME"]) / ".ssh" / "known_hosts").write_text("")
    message = fails(server, tmp_path)
    assert message.endswith("not found in known_hosts: connect once with ssh, which asks whether to trust it")
    assert not server.commands


@pytest.mark.parametrize("port", ["ssh", "0", "65536"])
def test_port_in_the_settings_that_is_none(port: str, server: Server, tmp_path: Path) -> None:
    (Path(os.environ["HOME"]) / ".ssh" / "config").write_text(f"Host farm\n  HostName 127.0.0.1\n  Port {port}\n")
    message = fails(server, tmp_path, Host.parse("farm"))
    assert message == f"icebreaker: port {port!r} in ~/.ssh/config is not in 1..65535"


def test_unreachable_host(server: Server, tmp_path: Path) -> None:
    server.close()
    message = fails(server, tmp_path)
    assert re.match(rf"icebreaker: builder@127\.0\.0\.1: .*{server.port}", message)


def test_missing_paramiko_is_reported(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paramiko", None)
    assert fails(server, tmp_path) == "icebreaker: paramiko is not installed: pip install 'utf8fpga[remote]'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("farm", ("farm", None, None)),
        ("me@farm.example:2222", ("farm.example", "me", 2222)),
        ("me@[::1]:22", ("::1", "me", 22)),
    ],
)
def test_parse_of_hosts(text: str, expected: tuple[str, str | None, int | None]) -> None:
    parsed = Host.parse(text)
    assert (parsed.name, parsed.user, parsed.port) == expected


@pytest.mark.parametrize(
    "text", ["", "@farm", "me@", "farm:", "farm:0", "farm:65536", "farm:ssh", "a@b@c", "::1", "a b"]
)
def test_invalid_hosts_are_rejected(text: str) -> None:
    assert refusal(ValueError, Host.parse, text) == f"host {text!r} is not [USER@]HOST[:PORT]"
