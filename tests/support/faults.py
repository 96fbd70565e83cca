# SPDX-License-Identifier: BSD-2-Clause
"""Decoders with a fault between a correct decoder and its ports."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module

__all__ = ["wrap"]


def wrap(inner: Any, outer: Any) -> Module:
    """A module for `outer` with a correct decoder in it, connected port by port.

    A fault is a later assignment to one of these signals, which takes precedence.
    """
    m = Module()
    m.submodules.inner = inner
    m.d.comb += [
        inner.units.payload.eq(outer.units.payload),
        inner.units.valid.eq(outer.units.valid),
        outer.units.ready.eq(inner.units.ready),
        outer.items.payload.eq(inner.items.payload),
        outer.items.valid.eq(inner.items.valid),
        inner.items.ready.eq(outer.items.ready),
    ]
    return m
