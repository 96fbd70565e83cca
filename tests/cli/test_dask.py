# SPDX-License-Identifier: BSD-2-Clause
"""The option `--dask` of the commands that take long: on a cluster they do what they do here."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path

import pytest
from support.command import utf8fpga


@pytest.mark.filterwarnings("default")  # warnings of the cluster itself
def test_a_command_prints_the_same_as_without_a_cluster(cluster: str) -> None:
    command = ["prove", "--optimize", "area", "--property", "independence", "--json"]
    here, there = utf8fpga(*command), utf8fpga(*command, "--dask", cluster)
    assert (there.stderr, there.returncode) == (b"", 0)
    texts = [re.sub(rb'"seconds": [\d.e-]+', b"", done.stdout) for done in (here, there)]
    assert texts[1] == texts[0]


@pytest.mark.filterwarnings("default")  # warnings of the cluster itself
@pytest.mark.parametrize("command", ["bench --device hx8k --lanes 1", "prove"])
def test_unreachable_cluster(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="requires the extra 'dask'")
    monkeypatch.setattr("utf8fpga.cli.jobs.CONNECT_SECONDS", 0.2)
    monkeypatch.chdir(tmp_path)
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))  # So that no other process listens on this port.
        where = f"127.0.0.1:{used.getsockname()[1]}"
        done = utf8fpga(*command.split(), "--dask", where)
    assert done.stderr.decode().startswith(f"utf8fpga: no Dask cluster at {where!r}: ")
    assert (done.stderr.count(b"\n"), done.stdout, done.returncode) == (1, b"", 1)


def test_missing_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = utf8fpga("prove", "--dask", "x:1", env=os.environ | {"PATH": ""})
    message = b"utf8fpga: distributed is not installed: pip install -e '.[dask]'\n"
    assert (done.stderr, done.stdout, done.returncode) == (message, b"", 1)
