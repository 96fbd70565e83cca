# SPDX-License-Identifier: BSD-2-Clause
"""The stream contract of a core, checked cycle by cycle in both engines; Numba compiles it for graphs."""

from __future__ import annotations

from typing import Any

from utf8fpga.hdl import Core

LAST, NULL, NONE = 1, 2, 3
"""The kinds of an input beat, apart from 0: it ends its text; it is a null beat; there is no further one."""

DEASSERTED, CHANGED, EARLY, STUCK, ENDLESS = range(1, 6)
"""What a run may do wrong, see `fault_text`."""

FIELDS = ("offered", "waits", "since", "open", "inside", "idle", "alone", "silent", "fault")
"""What is known of a run, all 0 at its start: whether an input beat is offered; whether an output beat waited in the
cycle before; the first cycle in which it was valid; the texts that have ended at the input and not yet at the output;
whether the last input beat did not end its text; the cycles since the last transfer in which the output was ready and
the input was valid or finished; the same since the last transfer at the input; the cycles since anything moved or was
valid at the output; what was wrong, or 0."""

_PATIENCE = 64
"""Lower bound on the result of `patience_of`."""


class ContractError(AssertionError):
    """The core violated the stream contract, or transferred no beat for too many cycles."""


def patience_of(core: Core) -> int:
    """The cycles without a transfer after which a core is reported as stuck.

    Only cycles count in which the output is ready and the input is valid or finished. It is 64, or more for a core
    whose timing contract allows more.
    """
    return max(_PATIENCE, core.stall_cycles + core.latency + core.drain_cycles)


def watch(run: Any, cycle: int, patience: int, kind: int, seen: Any) -> None:
    """Note what happens in a cycle, before its clock edge.

    Args:
        run: an object with the attributes `FIELDS`.
        kind: that of the next input beat, which is offered if `run.offered`.
        seen: `ready` of the input; `valid` and `ready` of the output; whether its payload differs from that of the
            cycle before, and whether it has `last`.
    """
    accepts, valid, ready, is_changed, is_last = seen
    accepted, taken, waited = run.offered and accepts, valid and ready, run.waits
    if valid and not waited:
        run.since = cycle
    run.waits = valid and not ready
    if accepted and kind != NULL:
        run.inside = kind != LAST
        run.open += kind == LAST
    run.open -= taken and is_last
    counts = ready and (run.offered or kind == NONE)
    run.idle = 0 if accepted or taken else run.idle + counts
    run.alone = 0 if accepted else run.alone + counts
    run.silent = 0 if accepted or valid else run.silent + 1
    run.offered = run.offered and not accepted
    if waited and not valid:
        run.fault = DEASSERTED
    elif waited and is_changed:
        run.fault = CHANGED
    elif run.open < 0:
        run.fault = EARLY
    elif run.idle > patience:
        run.fault = STUCK
    elif run.alone > 2 * patience:
        run.fault = ENDLESS


def fault_text(fault: int, cycle: int, patience: int) -> str:
    """What a run did wrong in a cycle."""
    texts = {
        DEASSERTED: "valid was deasserted before the transfer of a beat",
        CHANGED: "the payload changed before its transfer",
        EARLY: "last is set at the output before a text has ended",
        STUCK: f"no beat was transferred for {patience} cycles",
        ENDLESS: f"output beats for {2 * patience} cycles without a transfer of an input beat",
    }
    return f"cycle {cycle}: {texts[fault]}"
