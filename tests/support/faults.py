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
        inner.input.payload.eq(outer.input.payload),
        inner.input.valid.eq(outer.input.valid),
        outer.input.ready.eq(inner.input.ready),
        outer.output.payload.eq(inner.output.payload),
        outer.output.valid.eq(inner.output.valid),
        inner.output.ready.eq(outer.output.ready),
    ]
    return m
