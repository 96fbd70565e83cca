# SPDX-License-Identifier: BSD-2-Clause
"""Registers: delayed values, duplicates near their loads, and loads by logic."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, ShapeLike, Signal, Value, ValueCastable, ValueLike

from utf8fpga.hdl.commented import commented


def duplicate(name: str, shape: ShapeLike = 1, *, init: int = 0, reset_less: bool = False) -> Signal:
    """One of several registers with equal values, each for a part of the lanes.

    A net to thousands of loads is slow because it is long. Yosys merges registers with equal inputs. So the next value
    of a duplicate must depend on the duplicate itself, as that of a counter does, or one with an enable; otherwise use
    `delayed_duplicate`. The attribute `keep` is for other tools, and changes some results of Yosys.
    """
    register = Signal(shape, name=name, init=init, reset_less=reset_less)
    if not init:
        # Yosys's synthesis for iCE40 loses the initial value 1 of a register with this attribute.
        register.attrs["keep"] = 1
    return register


def delayed_duplicate(m: Module, value: Value, name: str, *, reset_less: bool = False) -> Signal:
    """One of several registers with a value of the cycle before, each for a part of the lanes; see `duplicate`."""
    register = duplicate(name, len(value), reset_less=reset_less)
    follow(m, register, value)
    return register


def follow(m: Module, register: Signal, value: Value) -> None:
    """A `duplicate` gets a value, whatever it held."""
    commented(register, "A duplicate. It refers to itself so that synthesis does not merge it with others.")
    m.d.sync += register.eq((register & value) | (~register & value))


def delayed(m: Module, value: ValueLike, name: str, *, reset_less: bool = True) -> Any:
    """A value of the cycle before, in a register with its shape. Only control bits need a reset."""
    shape = value.shape() if isinstance(value, ValueCastable) else Value.cast(value).shape()
    register = Signal(shape, name=name, reset_less=reset_less)
    m.d.sync += register.eq(value)
    return register


def delayed_by(m: Module, cycles: int, value: ValueLike, name: str, *, reset_less: bool = True) -> Any:
    """A value of some cycles before; its registers are `name`_after_1 and so on. Only control bits need a reset."""
    for cycle in range(1, cycles + 1):
        value = delayed(m, value, f"{name}_after_{cycle}", reset_less=reset_less)
    return value


def loaded(register: Value, value: Value, enable: Value) -> Any:
    """The assignment of `value` to a register in the cycles in which `enable` is asserted, by a multiplexer in logic.

    On iCE40 the path to a clock enable is longer than that to a look-up table, and the flip-flops of a tile share it.
    On ECP5 it is longer where the enable depends on an input that arrives late.
    """
    wide = enable.replicate(len(register))
    return register.eq((value & wide) | (register & ~wide))
