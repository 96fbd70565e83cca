# SPDX-License-Identifier: BSD-2-Clause
"""The compiled forms of YoWASP's tools: each is made once, by one process, and never changed.

A YoWASP tool is WebAssembly. Its runtime compiles it at the first start and stores the result, which later starts map
into memory; two first starts at once write the same file, which ends a process that has already mapped it by SIGBUS.
Here a tool is compiled under a lock, into a new folder that is then renamed into place.

The place is ``utf8fpga/tools/PACKAGE-VERSION-wasmtime-VERSION/PROGRAM`` in the user's cache or, if it is set, in the
folder that ``YOWASP_CACHE_DIR`` names.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

_logger = logging.getLogger(__name__)


def is_yowasp(program: str) -> bool:
    """Whether a program has the name of a YoWASP tool."""
    return Path(program).name.startswith("yowasp-")


def compiled_form(program: str, compile_into: Callable[[Path], None]) -> Path:
    """The folder with the compiled form of a YoWASP tool, for its environment variable ``YOWASP_CACHE_DIR``.

    The logger of this module logs when a first start begins and ends, also one of another process, for which the call
    waits. The records' attribute `first_start` is ``begin`` or ``end``.

    Args:
        compile_into: starts the tool once with another ``YOWASP_CACHE_DIR``.

    Raises:
        OSError: a file cannot be written.
    """
    name = Path(program).stem
    place = _folder() / _versions(program) / name
    if place.is_dir():
        return place
    tool = name.removeprefix("yowasp-")
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place.parent / f"{name}.lock")
    try:
        lock.acquire(timeout=0)
        message = "%s compiles itself at its first start, up to a minute"
    except Timeout:
        message = "another process starts %s for the first time, up to a minute: waiting"
    _logger.info(message, tool, extra={"first_start": "begin"})
    try:
        with lock:
            if not place.is_dir():
                _make(place, compile_into)
    finally:
        lock.release(force=True)
        _logger.info("%s has been started", tool, extra={"first_start": "end"})
    return place


def _make(place: Path, compile_into: Callable[[Path], None]) -> None:
    """Make a compiled form; the lock is held."""
    for left in place.parent.glob(f".{place.name}-*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}-"))
    try:
        compile_into(scratch)
        scratch.rename(place)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _versions(program: str) -> str:
    """The versions of the tool's package and of wasmtime in the environment of a program, as a file name."""
    path = Path(program)
    for prefix in {path.parent.parent, path.resolve().parent.parent}:
        for packages in [*prefix.glob("lib*/python3*/*-packages"), prefix / "Lib" / "site-packages"]:
            runtimes = sorted(packages.glob("wasmtime-*.dist-info"))
            for package in packages.glob("yowasp_*.dist-info"):
                with suppress(OSError):
                    scripts = (package / "entry_points.txt").read_text(encoding="utf-8")
                    if runtimes and re.search(rf"^{re.escape(path.stem)}\s*=", scripts, re.MULTILINE):
                        return f"{package.stem}-{runtimes[-1].stem}"
    # An unusual installation: one form for each state of the program.
    return hashlib.sha256(f"{path.resolve()} {path.stat().st_mtime_ns}".encode()).hexdigest()[:16]


def _folder() -> Path:
    if chosen := os.environ.get("YOWASP_CACHE_DIR"):
        return Path(chosen).absolute() / "utf8fpga" / "tools"
    return platformdirs.user_cache_path("utf8fpga") / "tools"
