# SPDX-License-Identifier: BSD-2-Clause
"""The command's standard error without messages that depend on earlier runs of its tools."""

from __future__ import annotations

import re


def talk(stderr: str) -> str:
    """The text without the lines that announce a tool's first start, or that a simulation model is built."""
    return re.sub(
        r"^utf8fpga: (\S+ is compiling itself|compiling a simulation model), .*\n", "", stderr, flags=re.MULTILINE
    )
