# SPDX-License-Identifier: BSD-2-Clause
"""The declarations of generated Verilog."""

from __future__ import annotations

import re


def declared_ports(verilog: str) -> list[tuple[str, str, int]]:
    """The direction, the name and the width of each port of the first module, in their order."""
    declarations = verilog[verilog.index("\nmodule ") : verilog.index("\n);")]
    found = re.findall(r"^  (input|output) (?:wire|reg) (?:\[(\d+):0\] )?(\w+),?$", declarations, re.MULTILINE)
    assert len(found) == declarations.count("put ")
    return [(direction, name, int(top or 0) + 1) for direction, top, name in found]


def header_of(verilog: str) -> str:
    """The text of the comment at the beginning, on one line."""
    return text_of(verilog[: verilog.index("\nmodule ")])


def text_of(comment: str) -> str:
    """The text of the lines of a comment, on one line."""
    return " ".join(line.removeprefix("// ").strip() for line in comment.splitlines())
