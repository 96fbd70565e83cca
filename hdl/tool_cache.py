# SPDX-License-Identifier: BSD-2-Clause
"""The compiled forms of YoWASP's tools: each is made once, by one process, and never changed.

A YoWASP tool is WebAssembly. Its runtime compiles it at the first start and stores the result, which later starts map
into memory; two first starts at once write the same file, which ends a process that has already mapped it by SIGBUS.
Here a tool is compiled under a lock, into a new folder that is then renamed into place.

The place is ``utf8fpga/tools/PACKAGE-VERSION-wasmtime-VERSION/PROGRAM`` in the user's cache or, if it is set, in the
folder that ``YOWASP_CACHE_DIR`` names. If that cannot be written, it is below a folder of this user in the system's
temporary directory. A file in it, `_RECORD`, has the size, time and SHA-256 of each other
file; a form that differs is made again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import re
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

_RECORD = "files.json"

_logger = logging.getLogger(__name__)

_first = threading.Lock()
"""Held by the thread of this process that compiles a tool or waits for another process."""


def is_yowasp(program: str) -> bool:
    """Whether a program has the name of a YoWASP tool."""
    return Path(program).name.startswith("yowasp-")


def compiled_form(program: str, compile_into: Callable[[Path], None], *, thorough: bool = False) -> Path:
    """The folder with the compiled form of a YoWASP tool, for its environment variable ``YOWASP_CACHE_DIR``.

    The logger of this module logs when a first start begins and ends, also one of another process, for which the call
    waits. The records' attribute `first_start` is ``begin`` or ``end``.

    Args:
        compile_into: starts the tool once with another ``YOWASP_CACHE_DIR``.
        thorough: compare the digest of each file although its size and time are as recorded.

    Raises:
        OSError: a file cannot be written.
    """
    name = Path(program).stem
    key = _versions(program)
    preferred = _folder() / key / name
    if _is_intact(preferred, thorough):
        return preferred
    place = preferred if _is_writable(preferred.parent) else _own_folder() / key / name
    with _first:
        if _is_intact(place, thorough):
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
                if not _is_intact(place, thorough):
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
        files = [path for path in scratch.rglob("*") if path.is_file()]
        record = {path.relative_to(scratch).as_posix(): [*_signature(path), _digest(path)] for path in files}
        (scratch / _RECORD).write_text(json.dumps(record), encoding="utf-8")
        if place.is_dir() and not place.is_symlink():
            # Files that other processes have mapped remain until they end.
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        scratch.rename(place)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _is_intact(place: Path, thorough: bool) -> bool:
    try:
        record = json.loads((place / _RECORD).read_text(encoding="utf-8"))
        for name, (size, changed, digest) in record.items():
            path = place / name
            # The time differs in a copy.
            if (thorough or _signature(path) != [size, changed]) and _digest(path) != digest:
                return False
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    return True


def _signature(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache
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
    return hashlib.sha256(f"{path.resolve()} {_signature(path)}".encode()).hexdigest()[:16]


def _folder() -> Path:
    if chosen := os.environ.get("YOWASP_CACHE_DIR"):
        return Path(chosen).absolute() / "utf8fpga" / "tools"
    return platformdirs.user_cache_path("utf8fpga") / "tools"


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@functools.cache
def _own_folder() -> Path:
    """A folder in the temporary directory that no other user can write, since its contents are executed."""
    if not hasattr(os, "getuid"):
        return Path(tempfile.mkdtemp(prefix="utf8fpga-"))
    folder = Path(tempfile.gettempdir(), f"utf8fpga-{os.getuid()}")
    with suppress(OSError):
        folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077:
            return folder
    # The name belongs to another user.
    return Path(tempfile.mkdtemp(prefix="utf8fpga-"))
