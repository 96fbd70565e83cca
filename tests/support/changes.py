# SPDX-License-Identifier: BSD-2-Clause
"""Parts of the project with a fault inserted into their source, which a check must detect."""

from __future__ import annotations

import inspect
import types
from typing import Any


def with_change(module: types.ModuleType, name: str, old: str, new: str) -> Any:
    """The attribute `name` of a copy of a module in which the only occurrence of `old` is replaced with `new`."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, old
    made = types.ModuleType("changed")
    made.__dict__["__name__"] = module.__name__
    exec(compile(source.replace(old, new), "changed", "exec"), made.__dict__)
    return getattr(made, name)
