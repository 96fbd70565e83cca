# SPDX-License-Identifier: BSD-2-Clause
"""Programs that stand in for the real tools."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

__all__ = ["write_program"]


def write_program(path: Path, text: str) -> Path:
    """Make `path` a program that runs a text in Python, with the standard library alone.

    By way of a shell, because a script's first line cannot name an interpreter whose path has blanks.
    """
    source = path.with_name(f"{path.name}.source")
    source.write_text(text, encoding="utf-8")
    words = [sys.executable, "-I", "-S", "-X", "utf8", str(source)]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path
