# SPDX-License-Identifier: BSD-2-Clause
"""The options that the commands for boards have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from utf8fpga.boards.forms import BOARD_CORES, BOARD_PIPELINE, FORMS
from utf8fpga.cli.core_options import SANITIZER, core_command
from utf8fpga.cli.options import one_of, reject_others

# The sanitizer is a transcoder, after which it is listed.
_CORES = [word for name in BOARD_CORES for word in ([name, SANITIZER] if name == "transcoder" else [name])]


board_core_command = core_command(cores=_CORES, presets={"pipeline": BOARD_PIPELINE})
"""A decorator for a command with the options of a core of a board; see `core_command`."""


def form_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that adds the option ``--form``; with that of a validator, an option of decoders is rejected."""

    @wraps(command)
    def checked(form: str | None, **given: Any) -> Any:
        if form == "report":
            reject_others("--form report", others=("pipeline",))
        return command(form=form, **given)

    text = "Form of the output; default: that of the core, words for a decoder. That of another core selects the core."
    return click.option("--form", **one_of(FORMS, text))(checked)
