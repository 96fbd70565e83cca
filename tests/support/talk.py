# SPDX-License-Identifier: BSD-2-Clause
"""What the command says on standard error, wherever and however often its tools have run before."""

from __future__ import annotations

import re


def talk(stderr: str) -> str:
    """The text without the lines that a tool's first start on this machine adds."""
    return re.sub(r"^utf8fpga: \S+ is compiling itself, .*\n", "", stderr, flags=re.MULTILINE)
