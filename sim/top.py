# SPDX-License-Identifier: BSD-2-Clause
"""Top modules for the engines."""

from __future__ import annotations

from functools import cached_property

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal, Value

from utf8fpga.hdl import Core
from utf8fpga.sim.aiger import Aig, aig_of


class Top(Elaboratable):
    """A top module; its ports are its public attributes that are signals, or lists or dictionaries of signals.

    Attributes:
        clk: the clock of the domain `sync`.
    """

    _MustUse__silence = True

    def __init__(self) -> None:
        self.clk = Signal(name="clk")

    @property
    def ports(self) -> list[Signal]:
        """The ports."""
        found: list[Signal] = []
        for name, value in vars(self).items():
            each = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else [value]
            found += [signal for signal in each if isinstance(signal, Signal) and not name.startswith("_")]
        return found

    def clocked(self, m: Module, reset: Value | None = None) -> None:
        """Add the domain `sync`; its registers are not reset if `reset` is None."""
        m.domains.sync = domain = ClockDomain("sync", reset_less=reset is None)
        m.d.comb += domain.clk.eq(self.clk)
        if reset is not None:
            m.d.comb += domain.rst.eq(reset)

    def rtlil(self) -> str:
        """The module ``top`` in RTLIL."""
        module = self.elaborate(None)  # It may add ports.
        return str(rtlil.convert(module, name="top", ports=self.ports, emit_src=False))

    @cached_property
    def aig(self) -> Aig:
        """The module as a graph, see `aig_of`."""
        return aig_of(self.rtlil())


def stream_ports(core: Core) -> dict[str, Value]:
    """The signals of the streams of a core, by the names of their ports."""
    return {
        "in_valid": core.input.valid,
        "in_ready": core.input.ready,
        "in_payload": Value.cast(core.input.payload),
        "out_valid": core.output.valid,
        "out_ready": core.output.ready,
        "out_payload": Value.cast(core.output.payload),
    }


def core_rtlil(core: Core) -> str:
    """A core in RTLIL: the module ``top`` with the ports of both streams, ``clk`` and ``rst``."""
    ports = {name: (value, None) for name, value in stream_ports(core).items()}
    return str(rtlil.convert(core, name="top", ports=ports, emit_src=False))
