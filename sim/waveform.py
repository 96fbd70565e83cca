# SPDX-License-Identifier: BSD-2-Clause
"""Waveforms of a core: value change dumps in order of the data flow.

Amaranth's simulator records every net in each module through which it passes, by module and name, in femtoseconds.
`recorded` rewrites its file: the streams first, then the components along the data flow, each net once, arrays and
lanes in scopes of their own, members of enumerations by name, and nanoseconds.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, takewhile
from pathlib import Path
from typing import IO, Any, TextIO

from vcd.reader import TokenKind, VarDecl, tokenize
from vcd.writer import VCDWriter

from utf8fpga.hdl import Core

_FEMTOSECONDS = 1_000_000
"""Amaranth's unit of time, in a nanosecond, the unit of the rewritten file."""

_STREAMS = ("input", "output")
_STATE = "state"
"""The scope of the nets of a core that belong to no component and no stream."""

_MANY = 4
"""Nets of a pipeline stage that have a scope of their own."""

_Path = tuple[str, ...]
"""Names of scopes from the outermost one on, or scopes and the name of a net in them."""


@dataclass(frozen=True)
class _Net:
    """A declaration of a net in a value change dump.

    Attributes:
        scope: the names of the modules around it.
        path: its name, and the names and indices of the fields of a structure.
        code: the identifier of the net, the same in each scope.
        size: its width in bits.
        is_text: its values are names.
    """

    scope: _Path
    path: _Path
    code: str
    size: int
    is_text: bool

    @property
    def name(self) -> str:
        """The name without fields, without the suffix that makes it unique, and without $ and _ around it."""
        return re.sub(r"\$\d+$", "", self.path[0]).strip("$_")


def _nets(dump: IO[bytes]) -> list[_Net]:
    """The declarations in the header of a value change dump, which is read up to the end of the header."""
    lines = takewhile(lambda line: not line.startswith(b"$enddefinitions"), iter(dump.readline, b""))
    # Amaranth's names for anonymous nets begin with $, which the reader does not accept.
    header = re.sub(rb"(?m)^(\$var \w+ \d+ \S+ )\$", rb"\1", b"".join(lines))
    scope: list[str] = []
    nets = []
    for token in tokenize(BytesIO(header)):
        if token.kind is TokenKind.SCOPE:
            scope.append(token.scope.ident)
        elif token.kind is TokenKind.UPSCOPE:
            scope.pop()
        elif token.kind is TokenKind.VAR:
            nets.append(_net(tuple(scope), token.var))
    return nets


def _net(scope: _Path, declared: VarDecl) -> _Net:
    path = tuple(re.findall(r"[^.\[\]\\]+", declared.ref_str))
    return _Net(scope, path, declared.id_code, declared.size, declared.type_.value == "string")


@contextmanager
def recorded(simulator: Any, core: Core, file: Path, *, name: str) -> Iterator[None]:
    """Record the waveform of what the simulator runs in this context, also if it raises an error.

    Args:
        name: the name of the outermost scope, in which characters outside identifiers are replaced.
    """
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        dump, names = Path(folder, "dump.vcd"), Path(folder, "names.gtkw")
        try:
            with simulator.write_vcd(str(dump), str(names), traces={each: getattr(core, each) for each in _STREAMS}):
                yield
        finally:
            rewrite(dump, file, _stream_names(names), re.sub(r"\W", "_", name))


def _stream_names(save: Path) -> dict[_Path, str]:
    """The scope and the name of each net of the core's streams, as Amaranth chose them, with the name of its stream."""
    found: dict[_Path, str] = {}
    stream = ""
    for line in save.read_text(encoding="utf-8").splitlines():
        if line.startswith("-") and line[1:] in _STREAMS:
            stream = line[1:]
        elif match := re.fullmatch(r"([^\\\[]+)\.([^.\\\[]+)(?:\[\d+:0\])?", line):
            found[(*match[1].split("."), match[2])] = stream
    return found


def rewrite(dump: Path, file: Path, streams: Mapping[_Path, str], name: str) -> None:
    """Write the dump of Amaranth's simulator in another order, with other names and another unit of time."""
    with dump.open("rb") as source, file.open("w", encoding="utf-8") as target:
        nets = _nets(source)
        tokens = tokenize(source)
        *_, (_, start) = _changes(takewhile(lambda token: token.kind is not TokenKind.END, tokens))
        with VCDWriter(target, timescale="1 ns", date="", comment=f"{name}, simulated by utf8fpga") as writer:
            variables, scopes = {}, _Scopes()
            for scope, label, net in _arranged(nets, streams):
                kind = "string" if net.is_text else "wire"
                variables[net.code] = writer.register_var(
                    scopes.of((name, *scope)), label, kind, size=net.size, init=start[net.code]
                )
            place = {code: number for number, code in enumerate(variables)}
            time, values = 0, start
            for time, changed in _changes(tokens):
                # In order of declaration, since the order of Amaranth's simulator is another one in each run.
                for code in sorted(changed.keys() & place.keys(), key=place.__getitem__):
                    if changed[code] != values[code]:
                        writer.change(variables[code], time // _FEMTOSECONDS, changed[code])
                values |= changed
            writer.close(time // _FEMTOSECONDS)


class _Scope(str):
    """The name of a scope that is sorted by its place, since the writer sorts the scopes of a file."""

    place: int

    def __lt__(self, other: str) -> bool:
        return isinstance(other, _Scope) and self.place < other.place


class _Scopes:
    """Scopes that are sorted in the order of their first use."""

    def __init__(self) -> None:
        self._known: dict[_Path, _Scope] = {}

    def of(self, path: _Path) -> _Path:
        """The path, with names that are sorted by their first use."""
        for depth in range(1, len(path) + 1):
            if path[:depth] not in self._known:
                scope = _Scope(path[depth - 1])
                scope.place = len(self._known)
                self._known[path[:depth]] = scope
        return tuple(self._known[path[:depth]] for depth in range(1, len(path) + 1))


def _changes(tokens: Iterable[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each time, and by identifier the values of the nets at the end of it that may have changed."""
    time = 0
    values: dict[str, Any] = {}
    for token in tokens:
        if token.kind is TokenKind.CHANGE_TIME:
            yield time, values
            time, values = token.data, {}
        elif token.kind in (TokenKind.CHANGE_SCALAR, TokenKind.CHANGE_VECTOR, TokenKind.CHANGE_STRING):
            values[token.data.id_code] = token.data.value
    yield time, values


def _arranged(nets: Sequence[_Net], streams: Mapping[_Path, str]) -> list[tuple[_Path, str, _Net]]:
    """The scope, the name and the declaration of each net of the rewritten file, in order, each net once."""
    wholes = {(net.scope, net.path[:cut]) for net in nets for cut in range(1, len(net.path))}
    placed: dict[str, tuple[_Path, str, _Net]] = {}
    taken: set[_Path] = set()
    for net, path in chain(_control(nets), _ports(nets, streams), _components(nets)):
        if net.code in placed or (net.scope, net.path) in wholes:
            continue
        *scope, label = path
        number, name = 1, label
        while (*scope, name) in taken:
            name = f"{label}_{(number := number + 1)}"
        taken.add((*scope, name))
        placed[net.code] = tuple(scope), name, net
    return list(placed.values())


def _path(scope: _Path, *names: str) -> _Path:
    """The place of a net with its fields: they are scopes, but indices of arrays are parts of names."""
    return *scope, *re.sub(r"\.(\d+)", r"_\1", ".".join(names)).split(".")


def _control(nets: Iterable[_Net]) -> Iterator[tuple[_Net, _Path]]:
    """The clocks and resets with their places."""
    return ((net, (net.name,)) for net in nets if _is_control(net))


def _ports(nets: Sequence[_Net], streams: Mapping[_Path, str]) -> Iterator[tuple[_Net, _Path]]:
    """The nets of the streams with their places, those of the handshake first."""
    for stream in _STREAMS:
        ports = [net for net in nets if streams.get((*net.scope, net.path[0])) == stream]
        for net in sorted(ports, key=lambda net: len(net.path) > 1):
            yield net, _path((stream,), *(net.path[1:] or (net.name.rpartition("__")[2],)))


def _components(nets: Sequence[_Net]) -> Iterator[tuple[_Net, _Path]]:
    """The nets of the components with their places; a net belongs to the innermost component that it enters."""
    top = nets[0].scope
    inner = {net.code: net.scope for net in sorted(nets, key=lambda net: len(net.scope))}
    for scope in _along_the_data(nets, top):
        own = [net for net in nets if net.scope == inner[net.code] == scope]
        stages = Counter(_stage(net)[0] for net in own)
        for net in _lanes_together(own):
            stage, rest = _stage(net)
            is_of_stage = stage and stages[stage] >= _MANY and "__" not in net.name
            head = [stage, rest] if is_of_stage else net.name.split("__")
            yield net, _path(scope[len(top) :] or (_STATE,), *head, *net.path[1:])


def _is_control(net: _Net) -> bool:
    """Whether a net is a clock or a reset."""
    return re.fullmatch(r"(.*_)?(clk|rst)", net.name) is not None


def _stage(net: _Net) -> tuple[str, str]:
    """The name of a pipeline stage and the rest, as in ``features_unit_0`` and ``gaps_1_word_0``; or two empty ones."""
    found = re.fullmatch(r"([a-z]+(?:_\d+)?)_(\w*[a-z]\w*)", net.name) if len(net.path) == 1 else None
    return (found[1], found[2]) if found else ("", "")


def _lanes_together(nets: Iterable[_Net]) -> list[_Net]:
    """Nets in the order of their names without the number of a lane, and those of equal names in the order of lanes."""
    stems: dict[str, int] = {}

    def place(net: _Net) -> tuple[int, int]:
        stem, _, number = net.name.rpartition("_")
        is_lane = number.isdigit() and len(net.path) == 1
        return stems.setdefault(stem if is_lane else net.name, len(stems)), int(number) if is_lane else 0

    return sorted(nets, key=place)


def write_cycles(file: TextIO, top: str, sizes: Mapping[str, int], cycles: Iterable[Mapping[str, int]]) -> None:
    """Write a waveform of signals that have one value in each cycle, and of their clock.

    Args:
        top: the name of the outermost scope.
        sizes: the width of each signal, by its name with the scopes in `top` and dots between them.
        cycles: for each cycle of 10 ns the values by name.
    """
    with VCDWriter(file, timescale="1 ns") as writer:
        clock = writer.register_var(top, "clk", "wire", size=1, init=0)
        signals = {}
        for name, size in sizes.items():
            *scope, last = name.split(".")
            signals[name] = writer.register_var(".".join([top, *scope]), last, "wire", size=size, init=0)
        for number, values in enumerate(cycles):
            for name, value in values.items():
                writer.change(signals[name], 10 * number, value)
            writer.change(clock, 10 * number, 0)
            writer.change(clock, 10 * number + 5, 1)


def _along_the_data(nets: Sequence[_Net], scope: _Path) -> Iterator[_Path]:
    """A scope, and the scopes of the components in it, those first that are nearer to the input stream."""
    yield scope
    inside = [net for net in nets if net.scope[: len(scope)] == scope]
    children = dict.fromkeys(net.scope[: len(scope) + 1] for net in inside if len(net.scope) > len(scope))
    codes = {child: {net.code for net in inside if net.scope[: len(child)] == child} for child in children}
    everywhere = {net.code for net in inside if _is_control(net)}
    reached = {net.code for net in inside if net.scope == scope and net.name == "input__payload"} - everywhere
    while children:
        nearest = next((child for child in children if codes[child] & reached), next(iter(children)))
        del children[nearest]
        reached |= codes[nearest] - everywhere
        yield from _along_the_data(nets, nearest)
