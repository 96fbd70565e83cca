# SPDX-License-Identifier: BSD-2-Clause
"""A store of answers, so that a question of several proofs is decided once.

Configurations share their parts: decoders of several tables have the same buffer, and all properties of a decoder rest
on one invariant. The key of a question is its content, so shared parts need no declaration. The processes of one run
share a folder: a process claims the questions that it decides, and others decide different ones meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

__all__ = ["Answers", "kept", "once", "shared_answers"]

T = TypeVar("T")

_folder: ContextVar[Path | None] = ContextVar("folder", default=None)

_PAUSE_SECONDS = 0.05
"""Pause before another search for the answers of other processes."""

_LIMIT = 10_000
"""Upper bound on the answers that a process keeps in memory."""


@contextmanager
def shared_answers(folder: Path | None) -> Iterator[None]:
    """Share answers with all processes that use the same folder; None: with none."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


_graphs: OrderedDict[Hashable, Any] = OrderedDict()

_GRAPHS = 12
"""Upper bound on the results of `kept` in memory."""


def kept(key: Hashable, make: Callable[[], Any]) -> Any:
    """The result of `make`, which a worker calls once for several properties of a configuration.

    Outside of `shared_answers` it is called each time, since the circuits may change between two calls.

    Args:
        key: what the result depends on, other than the source of this library.
        make: makes the result.
    """
    folder = _folder.get()
    if folder is None:
        return make()
    key = folder, key
    if key not in _graphs:
        _graphs[key] = make()
        while len(_graphs) > _GRAPHS:
            _graphs.popitem(last=False)
    _graphs.move_to_end(key)
    return _graphs[key]


def once(key: bytes, make: Callable[[], T], *, holds: Callable[[T], bool]) -> T:
    """The result of a function that several proofs of a run need; the processes of the run share it if it `holds`.

    Outside of `shared_answers` it is made each time, since the circuits may change between two calls.

    Args:
        key: what the result depends on, other than the source of this library.
        make: makes it; two processes that need it at the same time both do.
        holds: whether the result is shared.
    """
    if (found := _read(key)) is not None:
        return cast("T", found)
    result = make()
    if holds(result):
        _write(key, result)
    return result


class Answers:
    """The answers in memory, and those in the shared folder.

    A key is all that an answer depends on; an answer is an object that `pickle` accepts, except None.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """The answers that are present, by key."""
        found = {}
        for key in keys:
            answer = self._known.get(key)
            if answer is None and (answer := _read(key)) is not None:
                self._keep(key, answer)
            if answer is not None:
                found[key] = answer
        return found

    def claim(self, keys: Sequence[bytes], most: int) -> list[bytes]:
        """Claim up to `most` of the keys for this process, of those that no other process has claimed.

        If there is none, the call waits for a short time. `settle` releases each claim.
        """
        claimed: list[bytes] = []
        for key in keys:
            if len(claimed) < most and _claim(key):
                claimed.append(key)
        if not claimed:
            time.sleep(_PAUSE_SECONDS)
        return claimed

    def settle(self, keys: Sequence[bytes], answers: Mapping[bytes, Any]) -> None:
        """Store answers and release the claims to all of the keys, also to those without an answer."""
        for key in keys:
            if key in answers:
                self._keep(key, answers[key])
                _write(key, answers[key])
            _unclaim(key)

    def _keep(self, key: bytes, answer: Any) -> None:
        if len(self._known) < _LIMIT:
            self._known[key] = answer


def _path(key: bytes, suffix: str) -> Path | None:
    folder = _folder.get()
    return None if folder is None else folder / (hashlib.sha256(key).hexdigest() + suffix)


def _read(key: bytes) -> Any:
    path = _path(key, ".answer")
    if path is None:
        return None
    with suppress(FileNotFoundError):
        return pickle.loads(path.read_bytes())
    return None


def _write(key: bytes, answer: Any) -> None:
    path = _path(key, ".answer")
    if path is None:
        return
    number, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(number, "wb") as file:
        file.write(pickle.dumps(answer))
    os.replace(name, path)


def _claim(key: bytes) -> bool:
    path = _path(key, ".claim")
    if path is None:
        return True
    if _is_abandoned(path):
        path.unlink(missing_ok=True)
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    with os.fdopen(number, "w") as file:
        file.write(str(os.getpid()))
    return True


def _unclaim(key: bytes) -> None:
    if (path := _path(key, ".claim")) is not None:
        path.unlink(missing_ok=True)


def _is_abandoned(claim: Path) -> bool:
    """Whether the process that made a claim has ended without settling it."""
    if os.name != "posix":
        return False
    try:
        owner = claim.read_text()
        if owner:  # otherwise the file is being written
            os.kill(int(owner), 0)
    except ProcessLookupError:
        return True
    except (FileNotFoundError, PermissionError):
        return False
    return False
