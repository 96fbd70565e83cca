# SPDX-License-Identifier: BSD-2-Clause
"""The check of a core as an assertion, for tests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from utf8fpga.model import Practice
from utf8fpga.sim.foreign_check import check_foreign_core
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_module import OWN_PORTS, read_description
from utf8fpga.sim.report import Report

Name = str | os.PathLike[str]


def assert_utf8_core(
    core: Name | Sequence[Name],
    *,
    top: str | None = None,
    ports: Name | None = None,
    practice: Practice | str = Practice.MAXIMAL_SUBPARTS,
) -> Report:
    """Check a core, as the command `check` does. It requires the extra ``fast``.

    Args:
        core: its file or files in Verilog, SystemVerilog or RTLIL.
        top: the top module; default: the one that no other module instantiates.
        ports: the file that describes its ports; default: the names of this project's decoder.
        practice: the replacement practice, or its name.

    Returns:
        The report.

    Raises:
        AssertionError: the core differs from the model; the message has the shortest input for each cause.
        CoreError: a file cannot be read, the description does not match the ports, or the core cannot be checked.
        InvalidArgumentError: the practice is unknown.
        ToolError: Yosys or Numba is missing.
    """
    __tracebackhide__ = True
    files = [core] if isinstance(core, str | os.PathLike) else core
    description = read_description(Path(ports)) if ports else OWN_PORTS
    report = check_foreign_core(ForeignCore([Path(file) for file in files], top, description), Practice(practice))
    if report.failed:
        texts = "\n".join(f"{row.name}: {row.shortest}" for row in report.failed)
        raise AssertionError(f"{report.module} differs from the model\n{texts}")
    return report
