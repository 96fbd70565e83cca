# SPDX-License-Identifier: BSD-2-Clause
"""The module that a core becomes, as all texts that go with it need it: its name, its ports and its command."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from amaranth.lib.wiring import In

from utf8fpga.hdl.axi_stream import axi_signature, reset_name
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import command_words
from utf8fpga.hdl.verilog.identifiers import check_module_name


def module_name(core: Core) -> str:
    """The default name of the top module, such as ``utf8_decoder``."""
    return f"utf8_{core.parameters.core.replace('-', '_')}"


class Interface(NamedTuple):
    """A core as a module.

    Attributes:
        reset: the name of the reset port, ``rst`` or ``rst_n``.
        ports: by name the direction, ``input`` or ``output``, and the width.
        command: the command line that writes it.
    """

    name: str
    reset: str
    ports: dict[str, tuple[str, int]]
    command: str

    @staticmethod
    def of(core: Core, name: str | None, *, reset_low: bool) -> Interface:
        """The module for a core; `name` None is that of `module_name`."""
        default = module_name(core)
        name = default if name is None else name
        check_module_name(name)
        words = ["utf8fpga", "generate", *command_words(core.parameters)]
        words += ["--name", name] if name != default else []
        words += ["--reset-low"] if reset_low else []
        members = axi_signature(core, reset_low=reset_low).members
        ports = {port: ("input" if each.flow is In else "output", each.shape) for port, each in members.items()}
        return Interface(name, reset_name(reset_low), ports, shlex.join(words))
