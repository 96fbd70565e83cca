# SPDX-License-Identifier: BSD-2-Clause
"""The option `--dask` of the commands that take long, and where their jobs run."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import AbstractContextManager

import click

from utf8fpga.cli.options import SCHEDULER
from utf8fpga.cli.output import CommandError
from utf8fpga.hdl.jobs import job_executor

dask_option = click.option("--dask", type=SCHEDULER, help="Run the jobs on the Dask cluster with this scheduler.")


def chosen_executor(jobs: int | None, dask: str | None) -> AbstractContextManager[Executor]:
    """`job_executor` for the values of the options."""
    if dask and jobs:
        raise CommandError(f"--jobs {jobs} has no effect with --dask, where the cluster schedules: leave it out")
    return job_executor(jobs, dask)
