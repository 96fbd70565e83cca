# SPDX-License-Identifier: BSD-2-Clause
"""Errors reported to the user have one base class, and also the classes that are documented."""

from __future__ import annotations

import pickle

import pytest

from utf8fpga.bench.design import CoreError
from utf8fpga.boards.build import BuildError
from utf8fpga.cli.output import CommandError
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import InvalidArgumentError, TableError, UserError

DOCUMENTED: dict[type[Exception], list[type[UserError]]] = {
    ValueError: [InvalidArgumentError, TableError, CoreError],
    Exception: [CommandError],
    RuntimeError: [ToolError],
    ToolError: [BuildError],
}
"""By documented base class the errors."""


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda kind: kind.__name__)
def test_user_errors_have_a_common_base_class(documented: type[Exception]) -> None:
    for error in DOCUMENTED[documented]:
        assert issubclass(error, UserError)
        assert issubclass(error, documented)
        assert error.exit_status == (1 if documented in (RuntimeError, ToolError) else 2)


def test_failed_check_has_exit_status_1() -> None:
    assert CommandError("differs", status=1).exit_status == 1


@pytest.mark.parametrize("error", [ToolError, TableError, CoreError])
def test_message_is_preserved_by_pickling(error: type[UserError]) -> None:
    copy = pickle.loads(pickle.dumps(error("lanes 0 is not in 1..256")))
    assert (type(copy), str(copy)) == (error, "lanes 0 is not in 1..256")
