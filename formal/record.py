# SPDX-License-Identifier: BSD-2-Clause
"""Recorded answers of proofs: of which circuit and which statement each is, and the table of them.

An answer is current as long as the circuit, its promises and the statement are those of which it was proved. The
digest of a circuit does not depend on names and comments, see `logic_digest`; that of a statement is of the source of
its modules.
"""

from __future__ import annotations

import hashlib
import re
import tokenize
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from io import StringIO
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Signal, Value

from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, UNPROVED, Configuration
from utf8fpga.formal.report import Result
from utf8fpga.hdl import logic_digest
from utf8fpga.hdl.toolchain import present_version
from utf8fpga.model import InvalidArgumentError
from utf8fpga.model.render import markdown

Answers = dict[str, dict[str, Any]]
"""By configuration its digests, the versions of the tools, the properties that are proved with the seconds of processor
time, and the others with the reason."""

COMMAND = "utf8fpga prove --record ."

_NO_PROOF = "no proof"
"""The recorded reason if there is no method to prove a property of a core."""

_STATED_FOR_ALL = ("helpers", "netlist", "parts", "properties", "reference", "top")
_PACKERS = ("joints", "packer_monitors", "packer_proof")
_DECODERS = (
    *("decoder_reference", "reference_dfa", "drained_proof", "invariants/buffer", "invariants/window"),
    *("parallel_proof", "recovery_proof", *_PACKERS),
)
_ENCODERS = ("encoder_reference", "item_lanes", "stages_proof", "transcoder_proof", "wide_proof")
_STATED_FOR = {
    "decoder": _DECODERS,
    "encoder": (*_ENCODERS, *_PACKERS),
    "transcoder": (*_DECODERS, *_ENCODERS, "mark_proof", "transcoder_reference"),
    "remover": _PACKERS,
    "periodic reset": (*_DECODERS, "axi_stream_proof", "periodic_reset_proof"),
    "AXI4-Stream ports": ("axi_stream_proof",),
    "UART": ("uart_proof",),
}
"""The modules that state what is proved, by the name of the core or the part. Which of the proofs a core has follows
from its circuit: so `runner`, which chooses them, is not listed."""


def digests(configuration: Configuration) -> dict[str, str]:
    """The digests of the circuit of a configuration, and of the statements about it."""
    core = configuration.build()
    ports = [Value.cast(value) for _, _, value in core.signature.flatten(core)]
    # Amaranth accepts no constant, such as the `ready` of a stream that is always ready.
    only = (
        {}
        if all(isinstance(port, Signal) for port in ports)
        else {"ports": [p for p in ports if isinstance(p, Signal)]}
    )
    circuit = rtlil.convert(core, name="core", emit_src=False, **only)
    stated = (*_STATED_FOR_ALL, *_STATED_FOR[_core(configuration)])
    return {"circuit": logic_digest(str(circuit)), "statement": _source_digest(stated), "promises": promises(core)}


_PROMISES = ("latency", "reset_cycles", "stall_cycles", "drain_cycles", "accepts_gaps", "holds_beats", "is_narrow")


def promises(core: Any) -> str:
    """What a core says of itself, which the properties refer to and the circuit does not show."""
    return ", ".join(f"{name} {int(getattr(core, name))}" for name in _PROMISES if hasattr(core, name))


def _core(configuration: Configuration) -> str:
    return configuration.parameters.core if configuration.parameters else configuration.part


def _source_digest(modules: Iterable[str]) -> str:
    """A digest of the source of modules of this package, without comments, docstrings and the arrangement in lines."""
    found = hashlib.sha256()
    for name in modules:
        text = files("utf8fpga.formal").joinpath(f"{name}.py").read_text(encoding="utf-8")
        found.update("\n".join(source_lines(text)).encode())
    return found.hexdigest()


def source_lines(text: str) -> list[str]:
    """The logical lines of Python source, without spaces, comments and docstrings."""
    lines: list[str] = []
    words: list[str] = []
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            lines.append(tokenize.tok_name[token.type])
        elif token.type == tokenize.NEWLINE:
            lines += ["".join(words).replace(" ", "").replace(",)", ")")] if not words[0].startswith('"') else []
            words = []
        elif token.type not in (tokenize.COMMENT, tokenize.NL):
            words.append(token.string)
    return lines


def tools() -> str:
    """The versions of the tools that decide the proofs."""
    found = {"amaranth": version("amaranth"), "yosys": present_version("yosys"), "python-sat": version("python-sat")}
    return ", ".join(f"{name} {value}" for name, value in found.items())


def is_current(answers: Answers, configuration: Configuration, wanted: Sequence[str]) -> bool:
    """Whether properties of a configuration are recorded of its circuit and the statements as they are.

    One that was not decided is not, so that it is tried again.
    """
    before = answers.get(configuration.name, {"proved": {}, "open": {}})
    known = {*before["proved"], *(name for name, why in before["open"].items() if why == _NO_PROOF)}
    return set(wanted) <= known and _is_same(before, digests(configuration))


def _is_same(before: Mapping[str, Any], found: Mapping[str, str]) -> bool:
    return all(before.get(key) == digest for key, digest in found.items())


def add_answers(
    answers: Answers, configuration: Configuration, wanted: Collection[str], results: Iterable[Result]
) -> None:
    """Record the results of properties of a configuration in place of former ones.

    Args:
        answers: the recorded answers, which are changed.
        wanted: all properties that were tried; there is no proof of those without a result.
    """
    before, found = answers.get(configuration.name, {}), digests(configuration)
    seconds, left = (dict(before[key]) if _is_same(before, found) else {} for key in ("proved", "open"))
    by_name = {name: [result for result in results if result.wanted == name] for name in wanted}
    for name, each in by_name.items():
        seconds.pop(name, None), left.pop(name, None)
        if failed := [result.verdict for result in each if not result.proved]:
            left[name] = failed[0]
        elif each:
            seconds[name] = round(sum(result.processor for result in each), 1)
        else:
            left[name] = _NO_PROOF
    answers[configuration.name] = {**found, "tools": tools(), "proved": seconds, "open": left}


def proved_table(answers: Answers) -> str:
    """A table in Markdown of what is proved of each core with each choice of options."""
    lanes: dict[tuple[str, ...], list[int]] = {}
    for name, configuration in CONFIGURATIONS.items():
        core, number, options = _selected(configuration)
        lanes.setdefault((core, options, *_outcome(answers.get(name))), []).append(number)
    options_of: dict[tuple[str, ...], list[str]] = {}
    for (core, options, *outcome), numbers in lanes.items():
        options_of.setdefault((core, ", ".join(map(str, sorted(numbers))), *outcome), []).append(options)
    rows = [[core, numbers, ", ".join(options), *outcome] for (core, numbers, *outcome), options in options_of.items()]
    heading = ["core", "lanes", "options", "proved", "not proved"]
    return f"{markdown(heading, rows)}\n\n{_summary(answers)}"


def _summary(answers: Answers) -> str:
    versions = sorted({each["tools"] for each in answers.values()})
    spent = {(name, wanted): time for name, each in answers.items() for wanted, time in each["proved"].items()}
    longest = max(spent, key=lambda each: spent[each])
    return (
        f"{len(spent)} properties are proved, in {sum(spent.values()) / 60:.0f} minutes of processor time, at most "
        f"{spent[longest]:.0f} s each (`{' --property '.join(longest)}`), with {'; '.join(versions)}."
    )


def _selected(configuration: Configuration) -> tuple[str, int, str]:
    """The core, the lanes and the other options of a configuration."""
    if (parameters := configuration.parameters) is None:
        return configuration.part, 1, f"`{configuration.name}`"
    core, lanes, words = parameters.core, getattr(parameters, "lanes", 1), parameters.arguments()
    if architecture := getattr(parameters, "architecture", ""):
        parallel = "packed" if parameters.as_dict()["packed"] else "sparse"
        core += f", {parallel if architecture == 'parallel' else architecture}"
    words += [f"--{name}" for name in ("kind", "length") if getattr(parameters, name, False)]
    options = re.sub(r"--(lanes|architecture) \S+ |--sparse ", "", f"{' '.join(words)} ").strip()
    return core, lanes, f"`{options}`" if options else "none"


def _outcome(answer: Mapping[str, Any] | None) -> tuple[str, str]:
    """What is proved and what is not."""
    if answer is None:
        return "-", "not recorded"
    found = {name: "not recorded" for name in PROPERTIES if name not in answer["proved"]} | answer["open"]
    left = [f"`{name}`" + (f": {why}" if why != _NO_PROOF else "") for name, why in found.items()]
    return ", ".join(f"`{name}`" for name in answer["proved"]) if left else "all", ", ".join(left) or "-"


def unproved_table() -> str:
    """A table in Markdown of cores of which nothing is proved, with the reason."""
    rows = []
    for parameters in UNPROVED:
        try:
            Configuration.of(parameters)
        except InvalidArgumentError as error:
            rows.append([f"`{' '.join([parameters.core, *parameters.arguments()])}`", str(error)])
    return markdown(["core", "message of `utf8fpga prove`"], rows)
