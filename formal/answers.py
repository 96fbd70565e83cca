# SPDX-License-Identifier: BSD-2-Clause
"""A store of answers, so that a question of several proofs is decided once.

Configurations share their parts: decoders of several tables have the same buffer, and all properties of a decoder rest
on one invariant. The key of a question is its content, so shared parts need no declaration. The processes of one run
share a folder: a process claims the questions that it decides, and others decide different ones meanwhile.
"""

from __future__ import annotations

import hashlib
import pickle
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

from filelock import FileLock, Timeout

from utf8fpga.hdl.cache import Cache, CacheError

T = TypeVar("T")

_cache: ContextVar[Cache | None] = ContextVar("cache", default=None)

_PAUSE_SECONDS = 0.05
"""Pause before another search for the answers of other processes."""

_LIMIT = 10_000
"""Upper bound on the answers that a process keeps in memory."""


@contextmanager
def shared_answers(folder: Path | None) -> Iterator[None]:
    """Share answers with all processes that use the same folder; None: with none."""
    cache = None
    if folder is not None:
        with suppress(CacheError):
            cache = Cache(folder / "answers")
    token = _cache.set(cache)
    try:
        yield
    finally:
        _cache.reset(token)


def once(key: bytes, make: Callable[[], T], *, holds: Callable[[T], bool] = lambda _: True) -> T:
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


def kept(key: Hashable, make: Callable[[], T]) -> T:
    """`once` for a result that the other processes wait for; the key has a `repr`."""
    name = repr(key).encode()
    lock = _locked(name, timeout=-1)
    try:
        return once(name, make)
    finally:
        if lock:
            lock.release()


class Answers:
    """The answers in memory, and those in the shared folder.

    A key is all that an answer depends on; an answer is an object that `pickle` accepts, except None.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}
        self._claims: dict[bytes, FileLock] = {}

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

        If there is none, the call waits for a short time. `settle` releases each claim, and so does the end of the
        process.
        """
        claimed: list[bytes] = []
        for key in keys:
            if len(claimed) < most and self._claim(key):
                claimed.append(key)
        if not claimed:
            time.sleep(_PAUSE_SECONDS)
        return claimed

    def _claim(self, key: bytes) -> bool:
        try:
            lock = _locked(key, timeout=0)
        except Timeout:
            return False
        if lock:
            self._claims[key] = lock
        return True

    def settle(self, keys: Sequence[bytes], answers: Mapping[bytes, Any]) -> None:
        """Store answers and release the claims to all of the keys, also to those without an answer."""
        for key in keys:
            if key in answers:
                self._keep(key, answers[key])
                _write(key, answers[key])
            if lock := self._claims.pop(key, None):
                lock.release()

    def _keep(self, key: bytes, answer: Any) -> None:
        if len(self._known) < _LIMIT:
            self._known[key] = answer


def _name(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()


def _locked(key: bytes, timeout: float) -> FileLock | None:
    """A lock that the processes of the run share; None where none can be had, as on a full disk."""
    if cache := _cache.get():
        lock = FileLock(cache.directory / f"{_name(key)}.lock")
        try:
            lock.acquire(timeout=timeout)
            return lock
        except Timeout:
            raise
        except OSError:
            pass
    return None


def _read(key: bytes) -> Any:
    cache = _cache.get()
    content = cache and cache.get(_name(key))
    return content and pickle.loads(content)


def _write(key: bytes, answer: Any) -> None:
    if cache := _cache.get():
        # An answer that cannot be stored is decided again.
        with suppress(CacheError):
            cache.put(_name(key), pickle.dumps(answer))
