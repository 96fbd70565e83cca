# SPDX-License-Identifier: BSD-2-Clause
"""The plugin of pytest: the fixture `assert_utf8_core`.

pytest imports this module in each run, so whatever else a check requires is imported on use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def assert_utf8_core() -> Callable[..., Any]:
    """The function `utf8fpga.sim.assertion.assert_utf8_core`, which checks a core in files."""
    from utf8fpga.sim.assertion import assert_utf8_core as function

    return function
