# SPDX-License-Identifier: BSD-2-Clause
"""Commands whose help ends with examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def examples(*lines: str) -> str:
    """The end of a help text: command lines without their first word, ``utf8fpga``."""
    return "\n".join(["\b", "Examples:", *(f"  $ utf8fpga {line}" for line in lines)])


def command(*lines: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A decorator for a command with examples."""
    return click.command(epilog=examples(*lines))
