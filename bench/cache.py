# SPDX-License-Identifier: BSD-2-Clause
"""A cache in a folder, with digests of all that its contents depend on as keys."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from utf8fpga.model import UserError


class CacheError(UserError, OSError):
    """The folder of the cache cannot be written; the message names it and the reason."""


class Cache:
    """A folder of files, each with its digest.

    Files are written atomically. A damaged file counts as missing. Several processes may use one folder.

    Args:
        directory: the folder; created if it does not exist.
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

    def get(self, key: str) -> bytes | None:
        """The content with a key; None if it is missing or damaged."""
        try:
            digest, _, content = (self.directory / key).read_bytes().partition(b"\n")
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest().encode() == digest else None

    def put(self, key: str, content: bytes) -> None:
        """Store content."""
        try:
            handle, beside = tempfile.mkstemp(dir=self.directory, prefix=".")
            try:
                with open(handle, "wb") as file:
                    file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
                os.replace(beside, self.directory / key)
            except BaseException:
                os.unlink(beside)
                raise
        except OSError as error:
            raise self._error(error) from None

    def _error(self, error: OSError) -> CacheError:
        return CacheError(f"cannot write the cache {str(self.directory)!r}: {error.strerror or error}")
