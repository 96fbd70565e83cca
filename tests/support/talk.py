# SPDX-License-Identifier: BSD-2-Clause
"""The command's standard error without messages that depend on earlier runs of its tools."""

from __future__ import annotations

import re


def talk(stderr: str) -> str:
    """The text without the lines that announce a tool's first start, or that a simulation model is built."""
    announced = r"(\S+ compiles itself at its first start|compiling a simulation model)"
    return re.sub(rf"^utf8fpga: {announced}, .*\n", "", stderr, flags=re.MULTILINE)
