# SPDX-License-Identifier: BSD-2-Clause
"""A Dask cluster in the process of the tests, with which commands exchange bytes as with any other."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from support.processes import LIMIT_SECONDS


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of its scheduler; skips the test if Dask is not installed."""
    distributed = pytest.importorskip("distributed", reason="requires the extra 'dask'")
    settings = importlib.import_module("dask").config
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        # Long timeouts, for a busy machine.
        pytest.MonkeyPatch.context() as patch,
        settings.set({f"distributed.comm.timeouts.{each}": f"{LIMIT_SECONDS}s" for each in ("connect", "tcp")}),
        distributed.LocalCluster(protocol="tcp", host="127.0.0.1", **options) as local,
    ):
        patch.setattr("utf8fpga.cli.jobs.CONNECT_SECONDS", LIMIT_SECONDS)
        yield local.scheduler_address
