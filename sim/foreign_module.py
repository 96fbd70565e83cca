# SPDX-License-Identifier: BSD-2-Clause
"""Cores in Verilog from elsewhere, and their ports, as read by Yosys."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from utf8fpga.hdl.toolchain import ToolError, run_yosys
from utf8fpga.model import InvalidArgumentError


class CoreError(InvalidArgumentError):
    """A core cannot be measured or checked, or its description is wrong; the message is one line with the reason."""


@dataclass(frozen=True)
class TiedOff:
    """The inputs of a module that are not data.

    Attributes:
        reset: the name of the reset; None where there is none.
        constants: name, width and value of each input that is tied off.
        free: names and widths of the other inputs.
    """

    clock: str
    reset: str | None
    reset_low: bool
    constants: tuple[tuple[str, int, int], ...]
    free: dict[str, int]


@dataclass(frozen=True)
class ForeignModule:
    """A module in Verilog and its ports.

    Attributes:
        where: the name of its first file, for error messages.
        sources: names of our own and contents of its files; the suffix is one of `_READERS`.
        rtlil: the module, flat and without asynchronous resets, as the module ``foreign``; empty if not requested.
        cells: the cells of `rtlil`, as in Yosys's JSON.
        bits: by name of a port its bits there.
    """

    where: str
    sources: tuple[tuple[str, str], ...]
    name: str
    inputs: dict[str, int]
    outputs: dict[str, int]
    rtlil: str
    cells: dict[str, Any]
    bits: dict[str, list[Any]]

    def tie_off(
        self,
        clock: str | None,
        reset: str | None,
        reset_active: str | None,
        constants: Mapping[str, int],
    ) -> TiedOff:
        """Select the clock, the reset and the inputs with constant values.

        Args:
            clock: the name of the clock; default: the only input with such a name.
            reset: the name of the reset, as ``!name`` if it is active low, empty where there is none; default: the only
                input with such a name, if any.
            reset_active: ``high`` or ``low``; default: by the name of the reset.
            constants: names and values of the inputs that are tied off.

        Raises:
            CoreError: there is no such input, or a value does not fit.
        """
        where, top, inputs = self.where, self.name, self.inputs
        chosen = self._chosen("clock", clock, inputs, _CLOCK)
        if chosen is None:
            raise CoreError(
                f"{where}: no input of {top} has the name of a clock (inputs: {', '.join(inputs) or 'none'}): "
                "specify it with --ports"
            )
        others = {name: width for name, width in inputs.items() if name != chosen}
        if reset and reset[0] in "!~" and reset not in others:
            reset, reset_active = reset[1:], "low"
        found = None if reset == "" else self._chosen("reset", reset, others, _RESET)
        low = reset_active == "low" if reset_active else bool(found and _is_low(found))
        others.pop(found or "", None)
        for name, value in constants.items():
            if name not in others:
                raise CoreError(f"{where}: {top} has no input {name!r} to tie off (inputs: {', '.join(others)})")
            if value >= 1 << others[name]:
                raise CoreError(f"{where}: {value} does not fit into the {others[name]} bits of the input {name!r}")
        return TiedOff(
            clock=chosen,
            reset=found,
            reset_low=low,
            constants=tuple((name, others[name], value) for name, value in constants.items()),
            free={name: width for name, width in others.items() if name not in constants},
        )

    def _chosen(self, what: str, specified: str | None, inputs: dict[str, int], names: re.Pattern[str]) -> str | None:
        """The name of the clock or the reset: as specified; default: the only input with such a name."""
        where, top = self.where, self.name
        if specified is not None:
            if specified not in inputs:
                raise CoreError(
                    f"{where}: {top} has no input {specified!r} for its {what} (inputs: {', '.join(inputs)})"
                )
            if inputs[specified] != 1:
                raise CoreError(f"{where}: the {what} {specified!r} of {top} has {inputs[specified]} bits, not 1")
            return specified
        likely = [name for name, width in inputs.items() if width == 1 and names.fullmatch(name)]
        if len(likely) > 1:
            raise CoreError(f"{where}: {top} may have the {what} {' or '.join(likely)}: specify it with --ports")
        return likely[0] if likely else None


_CLOCK = re.compile(r"(?:[a-z]+_)?a?(?:clk|clock)(?:_?in?)?", re.IGNORECASE)
_RESET = re.compile(r"(?:[a-z]+_)?(?P<low>n)?a?(?:rst|reset)(?P<n>_?n|_?ni)?(?:_?in?)?", re.IGNORECASE)


def _is_low(reset: str) -> bool:
    found = _RESET.fullmatch(reset)
    return bool(found and (found["low"] or found["n"]))


_NO_TOP = "it has no module that can be the top: specify one with --top"


def read_module(files: Sequence[Path], top: str | None = None, *, flat: bool = False) -> ForeignModule:
    """Read a module from its files in Verilog, SystemVerilog or RTLIL.

    Args:
        files: its source files, whose names end in ``.v``, ``.sv`` or ``.il``.
        top: its name; default: the module that no other one instantiates.
        flat: whether to return it also in RTLIL, flat and without asynchronous resets.

    Raises:
        CoreError: a file cannot be read, or its name has another end, Yosys rejects it, or the module has a port
            that is input and output.
        ToolError: Yosys is missing.
    """
    # Names of users have characters that mean something to Yosys.
    sources = tuple((f"core{number or ''}{_suffix(path)}", text_of(path)) for number, path in enumerate(files))
    where = printable(files[0])
    names = {name: printable(path) for (name, _), path in zip(sources, files, strict=True)}
    chosen = f"-top {_yosys_name(top)}" if top else "-auto-top"
    script = f"hierarchy -check {chosen}; proc; "
    if flat:
        script += "flatten; opt_clean; "
    script += "write_json ports.json"
    if flat:
        # A name that stands for the module itself and does not depend on that of the core.
        script += "; chformal -remove; delete t:$print; async2sync; rename -top foreign; write_rtlil flat.il"
    try:
        sources, (ports, rtlil) = _read_by_yosys_or_slang(sources, script)
    except ToolError as error:
        if "No top module found" in str(error):
            raise CoreError(f"{where}: {_NO_TOP}") from None
        raise _rejection(error, names) from None
    return _top_of(json.loads(ports)["modules"], where, sources, rtlil.decode())


def _top_of(modules: Mapping[str, Any], where: str, sources: _Sources, rtlil: str) -> ForeignModule:
    """The top of modules in Yosys's JSON; the other arguments are attributes of the result."""
    tops = [name for name, module in modules.items() if int(module["attributes"].get("top", "0"), 2)]
    if not tops:
        raise CoreError(f"{where}: {_NO_TOP}")
    found: dict[str, Any] = modules[_yosys_name(tops[0])]["ports"]
    widths = {
        flow: {name: len(port["bits"]) for name, port in found.items() if port["direction"] == flow}
        for flow in ("input", "output")
    }
    if both := [name for name, port in found.items() if port["direction"] not in widths]:
        raise CoreError(f"{where}: {tops[0]} has the port {both[0]!r} that is input and output, which is not supported")
    return ForeignModule(
        where=where,
        sources=sources,
        name=tops[0],
        inputs=widths["input"],
        outputs=widths["output"],
        rtlil=rtlil,
        cells=modules[tops[0]].get("cells", {}),
        bits={name: port["bits"] for name, port in found.items()},
    )


_Sources: TypeAlias = tuple[tuple[str, str], ...]
"""Names and contents of files."""


def _read_by_yosys_or_slang(sources: _Sources, script: str) -> tuple[_Sources, list[bytes]]:
    """Read sources, SystemVerilog by Yosys or else by slang, and run a script; the sources as they were read."""

    def read(files: _Sources) -> tuple[_Sources, list[bytes]]:
        return files, run_yosys(read_script(files) + script, dict(files), "ports.json", "flat.il")

    try:
        return read(sources)
    except ToolError:
        if any(name.endswith(".sv") for name, _ in sources):
            with suppress(ToolError):
                return read(tuple((f"slang_{name}", text) for name, text in sources))
        raise


def _rejection(error: ToolError, names: Mapping[str, str]) -> Exception:
    """The error of a tool that has failed, with the names of the user's files."""
    if "failed with status" not in str(error):
        return error
    said = re.sub(r"\bcore\d*\.\w+", lambda found: names.get(found[0], found[0]), str(error).partition(": ")[2])
    where = next(iter(names.values()))
    return CoreError(said if said.startswith(tuple(names.values())) else f"{where}: {said}")


_READERS = {".v": "read_verilog", ".sv": "read_verilog -sv", ".il": "read_rtlil"}
"""The command of Yosys that reads a file with this suffix."""


def _suffix(path: Path) -> str:
    if path.suffix not in _READERS:
        raise CoreError(
            f"{printable(path)}: the name of a file must end in .v (Verilog), .sv (SystemVerilog) or .il (RTLIL)"
        )
    return path.suffix


def read_script(sources: Sequence[tuple[str, str]]) -> str:
    """The commands with which Yosys reads the sources; those whose names begin with ``slang`` with slang."""
    by_slang = [name for name, _ in sources if name.startswith("slang")]
    if by_slang:
        return f"read_slang -j 1 {' '.join(by_slang)}; "  # WebAssembly has one thread.
    return "".join(f"{_READERS[Path(name).suffix]} {name}; " for name, _ in sources)


def _yosys_name(name: str) -> str:
    # In a script, other characters separate or quote words, end commands, begin comments or options, or are patterns.
    if not re.fullmatch(r"[\w\\$.:\[\]][\w\\$.:\[\]-]*", name):
        raise CoreError(f"{name!r} is not the name of a module")
    return name


def printable(path: Path) -> str:
    """A file name, quoted if it is not printable."""
    return str(path) if str(path).isprintable() else repr(str(path))


_SOURCE_SIZE = 1 << 28
"""Upper bound on the characters of a source file."""

_SPECIAL = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
"""Files from which reading may never end."""


def text_of(path: Path, limit: int = _SOURCE_SIZE, *, errors: str = "replace") -> str:
    try:
        if kind := _SPECIAL.get(stat.S_IFMT(path.stat().st_mode)):
            raise CoreError(f"cannot read {str(path)!r}: it is {kind}, not a regular file")
        with path.open(encoding="utf-8", errors=errors) as file:
            text = file.read(limit + 1)
    except OSError as error:
        raise CoreError(f"cannot read {str(path)!r}: {error.strerror}") from None
    if len(text) > limit:
        raise CoreError(f"cannot read {str(path)!r}: it has more than {limit} characters")
    return text
