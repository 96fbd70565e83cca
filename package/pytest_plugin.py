# SPDX-License-Identifier: BSD-2-Clause
"""The plugin of pytest: options that add the check of a core to a run, and the fixture `assert_utf8_core`.

pytest imports this module in each run, so whatever else a check requires is imported on use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

OPTIONS = {
    "--utf8-core": "check the UTF-8 core in this file: Verilog (.v), SystemVerilog (.sv) or RTLIL (.il);"
    " repeat the option for each file of the core",
    "--utf8-top": "the top module of the core; default: the one that no other module instantiates",
    "--utf8-ports": "a description of the ports in TOML or JSON; default: the names of utf8fpga's decoder",
    "--utf8-practice": "the replacement practice; default: maximal-subparts",
}
_METAVARS = {"--utf8-top": "MODULE", "--utf8-practice": "PRACTICE"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("utf8fpga", "check of a UTF-8 core")
    for name, text in OPTIONS.items():
        action = "append" if name == "--utf8-core" else "store"
        group.addoption(name, action=action, metavar=_METAVARS.get(name, "FILE"), help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Add the tests of the core, if there is one."""
    names = {name: config.getoption(name) for name in OPTIONS}
    if not names["--utf8-core"]:
        for name, value in names.items():
            if value is not None:
                raise pytest.UsageError(f"{name} requires --utf8-core FILE")
        return
    try:
        from utf8fpga.sim.pytest_suite import CoreSuite
    except ModuleNotFoundError as error:
        raise pytest.UsageError(f"--utf8-core: {error}") from None
    config.pluginmanager.register(CoreSuite(config), "utf8fpga-suite")


@pytest.fixture(scope="session")
def assert_utf8_core() -> Callable[..., Any]:
    """The function `utf8fpga.sim.assertion.assert_utf8_core`, which checks a core in files."""
    from utf8fpga.sim.assertion import assert_utf8_core as function

    return function
