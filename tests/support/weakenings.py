# SPDX-License-Identifier: BSD-2-Clause
"""Weakenings of proofs: a proof that states less must be noticed.

A weakening is a change of the text of a proof, such as a comparison that is dropped, with a fault that only this part
of the proof can see: the proof refutes it, and no longer does with the change.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class Weakening:
    """A change of a proof, and what only the unchanged proof refutes.

    Attributes:
        function: the function of the proof that is changed.
        old, new: its text, and the text in place of that.
        proves: whether the proof accepts a circuit with the fault.
    """

    function: Callable[..., Any]
    old: str
    new: str
    proves: Callable[[pytest.MonkeyPatch], bool | None]

    @property
    def module(self) -> str:
        """The name of the module of the proof."""
        return self.function.__module__


def dropped(function: Callable[..., Any], text: str, proves: Callable[[pytest.MonkeyPatch], bool | None]) -> Weakening:
    """The weakening that leaves out a part of the text of a function."""
    return Weakening(function, text, "", proves)


def weaken(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], old: str, new: str) -> None:
    """Replace a text that occurs once in a function, for all who call that."""
    function = inspect.unwrap(function)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{function.__qualname__} must have once the text {old!r}"
    found: dict[str, Any] = {}
    exec(source.replace(old, new), function.__globals__, found)
    monkeypatch.setattr(function, "__code__", inspect.unwrap(found[function.__name__]).__code__)
