# SPDX-License-Identifier: BSD-2-Clause
"""Shared libraries of cores: compiled once and kept in the user's cache.

Yosys reduces a core to gates, `gates.py` writes them as a C function, and a C compiler makes a shared library of it and
of a driver: ``driver.c`` for cores, ``line.c`` for a UART's pins.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import hashlib
import importlib.util
import json
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import platformdirs
from amaranth.back import rtlil
from amaranth.hdl import Module

from utf8fpga.hdl.toolchain import ToolError, present_version, run_command, run_tool, tool_error, version_in
from utf8fpga.sim.engines import gates

_FLAGS = ("-std=c11", "-O1", "-fPIC", "-shared", "-fvisibility=hidden")
"""-O2 compiles half as long again, and the result is not faster."""

_logger = logging.getLogger(__name__)

COMPILERS = ("cc", "gcc", "clang")


def default_cache() -> Path:
    """The folder ``utf8fpga/compiled`` in the system's folder for the user's caches."""
    return platformdirs.user_cache_path("utf8fpga") / "compiled"


def find_compiler() -> list[str]:
    """The command of a C compiler: the one that ``CC`` names, ``cc``, ``gcc`` or ``clang``, or that of ziglang."""
    if chosen := shlex.split(os.environ.get("CC", "")):
        if found := shutil.which(chosen[0]):
            return [os.path.abspath(found), *chosen[1:]]
        raise ToolError(f"CC names {chosen[0]!r}, which is not a program")
    for name in COMPILERS:
        if found := shutil.which(name):
            return [os.path.abspath(found)]
    if importlib.util.find_spec("ziglang") is not None:
        # Without -mcpu the code is for this processor only, while a cache may be shared.
        return [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]
    raise ToolError("no C compiler is installed: pip install 'utf8fpga[compiled]', or install gcc or clang")


@functools.cache
def _compiler_version(*command: str) -> str:
    try:
        printed = subprocess.run(
            [*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        ).stdout
    except OSError as error:
        raise ToolError(f"the C compiler cannot be started as {command[0]!r}: {error.strerror}") from None
    return f"{printed.partition(chr(10))[0]} {version_in(printed)}"


class Circuit(Protocol):
    """A circuit that becomes a library."""

    @property
    def key(self) -> Sequence[str]:
        """Everything that determines the circuit, except the version of Yosys."""

    def write(self, folder: Path) -> None:
        """Write the circuit as ``top.il``, RTLIL with the top module ``top``."""


@dataclass(frozen=True)
class Rtlil:
    """A circuit that is RTLIL already; see `Circuit`."""

    text: str

    @property
    def key(self) -> Sequence[str]:
        return [self.text]

    def write(self, folder: Path) -> None:
        (folder / "top.il").write_text(self.text, encoding="utf-8")


def rtlil_of(m: Module, ports: Mapping[str, Any], name: str = "top") -> str:
    """A module in RTLIL with ports of these names; whether a signal has a driver determines its direction."""
    directed = {port: (signal, None) for port, signal in ports.items()}
    return str(rtlil.convert(m, name=name, ports=directed, emit_src=False))


def source(name: str | Path) -> str:
    """The text of a file; of this package, if it is given by name."""
    file = name if isinstance(name, Path) else resources.files(__package__).joinpath(name)
    return file.read_text(encoding="utf-8")


def _digest(circuit: Circuit, definitions: str, driver: str | Path, compiler: Sequence[str]) -> str:
    parts = [
        *circuit.key,
        definitions,
        source(driver),
        source("gates.py"),
        present_version("yosys"),
        _compiler_version(*compiler),
        *compiler[1:],
        *_FLAGS,
        platform.system(),
        platform.machine(),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def library(circuit: Circuit, definitions: str, cache: Path, *, driver: str | Path = "driver.c") -> ctypes.CDLL:
    """The library of a core: from the cache, otherwise built and put there if it can be written.

    Several processes may build the same library at once: a file is put in place whole.

    Args:
        circuit: the circuit, with the ports that `gates.py` and the driver name.
        definitions: constants and types for the driver, in C.
        driver: the file with the exported functions, or the name of one of this package.

    Raises:
        InvalidArgumentError: the circuit cannot be made for another reason.
    """
    compiler = find_compiler()
    key = _digest(circuit, definitions, driver, compiler)
    if (cache, key) in loaded:
        return loaded[cache, key]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        is_kept = os.access(cache, os.W_OK)
        if found := _intact(cache, key, is_kept):
            return loaded.setdefault((cache, key), ctypes.CDLL(str(found)))
    except OSError:
        is_kept = False
    # The folder is on the file system of the cache, so that the library can be renamed.
    where = cache if is_kept else Path(tempfile.gettempdir())
    try:
        with tempfile.TemporaryDirectory(dir=where, prefix=".build-", ignore_cleanup_errors=True) as folder:
            try:
                built = build(circuit, definitions, driver, compiler, Path(folder), cache if is_kept else None)
            except (ToolError, ValueError):
                # Some tools do not report that they cannot write all of their output.
                if shutil.disk_usage(folder).free < _LEAST_BYTES:
                    raise _not_compiled(where, os.strerror(errno.ENOSPC)) from None
                raise
            if is_kept:
                place = cache / f"{key}-{_sha256(built)}{_SUFFIX}"
                os.replace(built, built := place)
            return loaded.setdefault((cache, key), ctypes.CDLL(str(built)))
    except OSError as error:
        raise _not_compiled(where, error.strerror or str(error)) from None


def _not_compiled(where: Path, reason: str) -> ToolError:
    return ToolError(f"the model cannot be compiled in {str(where)!r}: {reason}")


_LEAST_BYTES = 1 << 18
"""The free space below which a tool that fails is taken to have filled the disk."""

_SUFFIX = ".dll" if os.name == "nt" else ".so"


def _intact(cache: Path, key: str, is_kept: bool) -> Path | None:
    """The library of a key, whose name ends with its digest; one that is damaged is removed."""
    for place in cache.glob(f"{key}-*{_SUFFIX}"):
        with suppress(OSError):
            if place.stem == f"{key}-{_sha256(place)}":
                return place
        if is_kept:
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
    return None


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


loaded: dict[tuple[Path, str], ctypes.CDLL] = {}
"""The libraries of this process, by the cache and the digest of what they are made of."""


def build(
    circuit: Circuit, definitions: str, driver: str | Path, compiler: Sequence[str], folder: Path, cache: Path | None
) -> Path:
    _logger.info("compiling a simulation model, which is kept in the cache")
    circuit.write(folder)
    (folder / "top.ys").write_text(gates.SCRIPT, encoding="utf-8")
    run_tool("yosys", ["-q", "-s", "top.ys"], directory=folder)
    module = json.loads((folder / "top.json").read_text(encoding="utf-8"))["modules"]["top"]
    (folder / "circuit.h").write_text(gates.gate_level_c(module) + definitions, encoding="utf-8")
    (folder / "driver.c").write_text(source(driver), encoding="utf-8")
    # Zig takes files of the same name in different folders for the same if it sees relative paths and one cache.
    environment = {
        "ZIG_LOCAL_CACHE_DIR": str(folder / "zig"),
        "ZIG_GLOBAL_CACHE_DIR": os.environ.get("ZIG_GLOBAL_CACHE_DIR", str((cache or folder) / "zig")),
    }
    built = folder / "library"
    command = [*compiler, *_FLAGS, "-I", str(folder), "-o", str(built), str(folder / "driver.c")]
    status, printed = run_command("the C compiler", command, folder, environment)
    if status:
        raise tool_error("the C compiler", status, printed)
    return built
