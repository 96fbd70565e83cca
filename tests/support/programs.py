# SPDX-License-Identifier: BSD-2-Clause
"""Stand-ins for the real tools, in Python."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def write_program(path: Path, text: str) -> Path:
    """Write a program to `path` that runs a Python text with only the standard library.

    It is a shell script, since the first line of a script cannot name an interpreter whose path has spaces.
    """
    source = path.with_name(f"{path.name}.source")
    source.write_text(text, encoding="utf-8")
    words = [sys.executable, "-I", "-S", "-X", "utf8", str(source)]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path
