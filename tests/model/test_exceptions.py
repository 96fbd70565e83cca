# SPDX-License-Identifier: BSD-2-Clause
"""Errors reported to the user have one base class, and also the classes that are documented."""

from __future__ import annotations

import pickle

import pytest

from utf8fpga.bench.design import CoreError
from utf8fpga.bench.plot import PlotError
from utf8fpga.boards.build import BuildError
from utf8fpga.boards.catalog import UnknownBoardError
from utf8fpga.cli.output import CommandError
from utf8fpga.hdl.cache import CacheError
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import ConversionError, InvalidArgumentError, TableError, UserError


@pytest.mark.parametrize(
    ("error", "documented", "status"),
    [
        (InvalidArgumentError, ValueError, 2),
        (TableError, ValueError, 2),
        (ConversionError, ValueError, 2),
        (CoreError, ValueError, 2),
        (UnknownBoardError, ValueError, 2),
        (CommandError, Exception, 2),
        (CacheError, OSError, 2),
        (ToolError, RuntimeError, 1),
        (BuildError, ToolError, 1),
        (PlotError, ToolError, 1),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_user_errors_have_a_common_base_class(error: type[UserError], documented: type[Exception], status: int) -> None:
    assert issubclass(error, UserError)
    assert issubclass(error, documented)
    assert error.exit_status == status


def test_failed_check_has_exit_status_1() -> None:
    assert CommandError("differs", status=1).exit_status == 1


@pytest.mark.parametrize("error", [CacheError, ToolError, TableError, CoreError])
def test_message_is_preserved_by_pickling(error: type[UserError]) -> None:
    copy = pickle.loads(pickle.dumps(error("lanes 0 is not in 1..256")))
    assert (type(copy), str(copy)) == (error, "lanes 0 is not in 1..256")
