# SPDX-License-Identifier: BSD-2-Clause
"""Families of devices, and the options that suit them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from utf8fpga.hdl.core import CoreParameters, written
from utf8fpga.hdl.cores import command_words


@dataclass(frozen=True)
class Family:
    """A family of devices.

    Attributes:
        lut_memory: whether its look-up tables can be small memories that are read without a clock edge.
        ram_style: the attribute with which the vendor's synthesis places a memory there, see `axi_verilog`; None: no
            attribute is needed, or there are no such memories.
    """

    lut_memory: bool
    ram_style: str | None = None


_NONE = Family(lut_memory=False)
_LATTICE = Family(lut_memory=True, ram_style="syn_ramstyle=distributed")

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "ice40": _NONE,
        "ecp5": _LATTICE,
        "nexus": _LATTICE,
        "machxo2": _LATTICE,
        # Gowin's name of the attribute's value is not one that Yosys accepts.
        "gowin": Family(lut_memory=True),
        "xilinx": Family(lut_memory=True, ram_style="ram_style=distributed"),
        "cyclonev": Family(lut_memory=True, ram_style="ramstyle=MLAB"),
        "max10": _NONE,
        "gatemate": _NONE,
    }
)
"""The families by name."""


@dataclass(frozen=True)
class Fitted:
    """The options for a family.

    Attributes:
        command: the options of the command line that select the core, together with that of the family.
        notes: lines that state what was selected, and why.
    """

    parameters: CoreParameters
    ram_style: str | None
    command: tuple[str, ...]
    notes: tuple[str, ...]


class Pipeline(NamedTuple):
    """A setting of the pipeline that suits a family."""

    setting: int
    reason: str


def fitted(
    parameters: CoreParameters,
    device: str,
    *,
    given: Collection[str] = (),
    ram_style: str | None = None,
    pipeline: Pipeline | None = None,
) -> Fitted:
    """The parameters of a core with the values that suit a family.

    Args:
        device: the name of the family, one of `FAMILIES`.
        given: the fields of the parameters that the user has chosen, which remain.
        ram_style: the attribute that the user has chosen; None: that of the family, if the core may have memories.
        pipeline: the setting of the pipeline that suits the family; None: it remains, or is that of the
            buffer.

    >>> from utf8fpga.hdl.decoder.parameters import DecoderParameters
    >>> for note in fitted(DecoderParameters(lanes=4, packed=False), "ice40").notes:
    ...     print(note)
    Selected for ice40: --buffer registers, since its look-up tables cannot be memories.
    Selected for ice40: --pipeline 5, since its look-up tables cannot be memories.
    """
    family = FAMILIES[device]
    preferred = {} if family.lut_memory else parameters.preferences_without_memory()
    if "buffer" in given:
        preferred.pop("pipeline", None)
    reasons = dict.fromkeys(preferred, "since its look-up tables cannot be memories")
    if pipeline:
        preferred |= {"pipeline": pipeline.setting}
        reasons |= {"pipeline": pipeline.reason}
    wanted = {name: value for name, value in preferred.items() if name not in given}
    command = command_words(parameters)
    # An option with the default as its value is redundant without the family only.
    for name in sorted(preferred.keys() & set(given)):
        if f"--{name}" not in command:
            command += [f"--{name}", written(getattr(parameters, name))]
    notes = [f"Selected for {device}: --{name} {value}, {reasons[name]}." for name, value in wanted.items()]
    if ram_style is None and family.ram_style:
        ram_style = family.ram_style
        notes.append(f"Selected for {device}: --ram-style {ram_style}.")
    if not notes:
        notes.append(f"Selected for {device}: the options as they are.")
    return Fitted(replace(parameters, **wanted), ram_style, tuple(command), tuple(notes))
