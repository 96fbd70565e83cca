# SPDX-License-Identifier: BSD-2-Clause
"""A cache of job results in a folder, with digests of all inputs of a job as keys."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import platformdirs

from utf8fpga.model import UserError

__all__ = ["Cache", "CacheError", "default_cache"]


class CacheError(UserError, OSError):
    """The folder of the cache cannot be written; the message names it and the reason."""


def default_cache() -> Path:
    """The folder ``utf8fpga/bench`` in the system's folder for the user's caches."""
    return platformdirs.user_cache_path("utf8fpga") / "bench"


class Cache:
    """A folder of results: small ones as JSON files, netlists as compressed files.

    Files are written atomically. A damaged file counts as missing. Several processes may use one folder.

    Args:
        directory: the folder; created if it does not exist.

    Raises:
        CacheError: the folder cannot be written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            # Raises before the first result is computed if the folder is not writable.
            with tempfile.TemporaryFile(dir=directory):
                pass
        except OSError as error:
            raise self._error(error) from None

    def get(self, key: str) -> Any:
        """The result of the job with this key; None if it is missing or damaged."""
        try:
            kept = json.loads((self.directory / f"{key}.json").read_text(encoding="utf-8"))
            return kept["result"] if kept["digest"] == _digest(kept["result"]) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, result: Any) -> None:
        """Store a result that can be represented in JSON.

        Raises:
            CacheError: it cannot be written.
        """
        text = json.dumps({"digest": _digest(result), "result": result}, indent=1) + "\n"
        self._write(f"{key}.json", text.encode())

    def content(self, digest: str) -> bytes | None:
        """The content with this SHA-256; None if it is missing or damaged."""
        try:
            content = (self.directory / f"{digest}.gz").read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def keep(self, digest: str, content: bytes) -> None:
        """Store content under its SHA-256.

        Raises:
            CacheError: it cannot be written.
        """
        self._write(f"{digest}.gz", content)

    def _write(self, name: str, content: bytes) -> None:
        try:
            handle, beside = tempfile.mkstemp(dir=self.directory, prefix=".", suffix=f".{name[:8]}")
            try:
                with open(handle, "wb") as file:
                    file.write(content)
                os.replace(beside, self.directory / name)
            except BaseException:
                os.unlink(beside)
                raise
        except OSError as error:
            raise self._error(error) from None

    def _error(self, error: OSError) -> CacheError:
        return CacheError(f"cannot write the cache {str(self.directory)!r}: {error.strerror or error}")


def _digest(result: Any) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
