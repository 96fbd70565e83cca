# SPDX-License-Identifier: BSD-2-Clause
"""Whether a core contains its parts as they are proved, each by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module


def has_only(core: Any, parts: Mapping[str, Any]) -> bool:
    """Whether a core has these components and no others, and nothing in it resets, pauses or renames one.

    The comparison of what the components are connected to does not show an inserted reset: in it they are free.

    Args:
        core: the core, which is elaborated, but not its components.
    """
    made = core.elaborate(None)
    if type(made) is not Module or made._anon_submodules:
        return False
    found = {name: component for name, (component, _) in made._named_submodules.items()}
    return found.keys() == parts.keys() and all(found[name] is part for name, part in parts.items())
