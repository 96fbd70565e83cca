# SPDX-License-Identifier: BSD-2-Clause
"""Results of jobs, kept in a folder by the digest of everything that they depend on."""

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
    """The folder cannot be written; one line says which and why."""


def default_cache() -> Path:
    """The folder ``utf8fpga/bench`` where the system keeps a user's caches."""
    return platformdirs.user_cache_path("utf8fpga") / "bench"


class Cache:
    """Small results as JSON files and large ones as they are, each written whole or not at all.

    A file that is damaged counts as missing. Several processes may use one folder.

    Args:
        directory: the folder; made if it does not exist.

    Raises:
        CacheError: it cannot be written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            # Found out before the first result is there to be lost.
            with tempfile.TemporaryFile(dir=directory):
                pass
        except OSError as error:
            raise self._error(error) from None

    def get(self, key: str) -> Any:
        """The result of the job with this key, or None."""
        try:
            kept = json.loads((self.directory / f"{key}.json").read_text(encoding="utf-8"))
            return kept["result"] if kept["digest"] == _digest(kept["result"]) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, result: Any) -> None:
        """Keep a result that JSON can express.

        Raises:
            CacheError: it cannot be written.
        """
        text = json.dumps({"digest": _digest(result), "result": result}, indent=1) + "\n"
        self._write(f"{key}.json", text.encode())

    def content(self, digest: str) -> bytes | None:
        """The content with this SHA-256, or None."""
        try:
            content = (self.directory / f"{digest}.gz").read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def keep(self, digest: str, content: bytes) -> None:
        """Keep content under its SHA-256.

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
