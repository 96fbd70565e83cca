# SPDX-License-Identifier: BSD-2-Clause
"""A proposal of the description of a foreign core's ports, from their usual names and their widths."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

from utf8fpga.hdl.foreign import CoreError, ForeignModule, read_module

_WORDS = {
    "valid": "valid|vld|strobe|stb|en|ena|enable|we|wr|write|push|start|req|request|send|dv",
    "ready": "ready|rdy|ack|acknowledge|done|busy|full|stall",
    "last": "last|eof|eot|eop|end|final|flush|finish",
    "keep": "keep|strb|be",
    "error": "err|error|invalid|bad|wrong|fault|malformed|illegal|user|ill",
    "good": "ok|good|legal|wellformed|well|correct",
    "resend": "resend|retry|again|replay",
    "data": "data|din|dout|d|q|in|out|byte|char|character|code|codepoint|point|cp|unicode|utf8|utf16|symbol|word|unit",
}
"""By role the words in the names of its ports."""

_POINT_BITS = 21

_Roles = dict[str, str | None]


class _Ports:
    """The ports of one direction that have no role yet."""

    def __init__(self, widths: dict[str, int]) -> None:
        self.widths, self.left = widths, dict(widths)

    def take(self, role: str, widths: Container[int] = (1,)) -> str | None:
        """The first port with such a name and width, or for data the only one of this width, as an expression."""
        fitting = [name for name, width in self.left.items() if width in widths]
        found = [name for name in fitting if _has_word(name, role)]
        if not found and role == "data" and len(fitting) == 1:
            found = fitting
        if not found:
            return None
        del self.left[found[0]]
        is_low = re.search(r"_n(_|$)|^n_|[a-z]N$", found[0]) is not None
        is_opposite = role == "ready" and re.search(r"busy|full|stall", found[0], re.IGNORECASE) is not None
        return f"{'!' * (is_low != is_opposite)}{found[0]}"

    def keep(self, data: str | None) -> str | None:
        """The port with a bit per byte or per word of data."""
        width = self.widths.get(data or "", 0)
        return self.take("keep", {width // 8, width // 32} - {0})


def _has_word(name: str, role: str) -> bool:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
    # An `s_axis_tvalid` is a `valid`, as is `valid_i`, `i_valid` or `in_valid`.
    return re.search(rf"(?:^|_)[a-z]?(?:{_WORDS[role]})[0-9]?(?:_|$)", words) is not None


def propose_ports(files: Sequence[Path], top: str | None = None) -> str:
    """A description in TOML of the ports of a module, with comments for what is not certain.

    Raises:
        CoreError: a file cannot be read, or Yosys rejects it.
    """
    return "\n".join(_lines(read_module(files, top))) + "\n"


def _lines(module: ForeignModule) -> Iterator[str]:
    yield f"# Proposed from the names and the widths of the ports of {module.name}: check each line."
    given, made = _Ports(module.inputs), _Ports(module.outputs)
    try:
        tied = module.tie_off(None, None, None, {})
        for name in (tied.clock, tied.reset):
            given.left.pop(name or "", None)
    except CoreError:
        yield "# clock and reset are missing: their names are not the usual ones"
    kind, into, out = _roles(module.name, given, made)
    protocol = "axi-stream" if into["ready"] else "resend" if out["resend"] else "strobe"
    yield f'kind = "{kind}"'
    yield f'protocol = "{protocol}"'
    if re.search("done|ack", into["ready"] or ""):
        yield '# With an acknowledgement, the protocol may also be "request" or "four-phase".'
    if re.search("flush|finish", into["last"] or ""):
        yield 'end = "flush"'
    yield from _role_lines("input", into)
    yield from _role_lines("output", out)
    if made.left:
        yield f"# not used: {', '.join(made.left)}"
    if given.left:
        yield f"constants = {{ {', '.join(f'{json.dumps(name)} = 0' for name in given.left)} }} # unknown"


def _role_lines(side: str, roles: _Roles) -> Iterator[str]:
    yield f"{side} = {{ {', '.join(f'{role} = {json.dumps(name)}' for role, name in roles.items() if name)} }}"
    missing = [role for role in ("byte", "code_point", "valid", "error") if role in roles and not roles[role]]
    yield from (f"# {side}.{role} was not found" for role in missing)


def _roles(name: str, given: _Ports, made: _Ports) -> tuple[str, _Roles, _Roles]:
    """The kind of a module, and by role the ports of its input and of its output."""
    kind, data, word = _data(name, given, made)
    role_in, role_out = ("code_point", "byte") if kind == "encoder" else ("byte", "code_point")
    into = {role_in: data, **{role: given.take(role) for role in ("valid", "last")}, "keep": given.keep(data)}
    into["ready"] = made.take("ready")
    out = {} if kind == "validator" else {role_out: word}
    out["error"] = made.take("error", range(1, 513)) or _opposite(made.take("good"))
    out |= {role: made.take(role) for role in ("valid", "last", "resend")}
    out |= {"keep": made.keep(word), "ready": given.take("ready")}
    return kind, into, out


def _data(name: str, given: _Ports, made: _Ports) -> tuple[str, str | None, str | None]:
    """The kind of a module, and the ports with its symbols and words."""
    whole_bytes, points = range(8, 4096, 8), range(_POINT_BITS, 4096)
    is_encoder = "enc" in name.lower() or not any(width in points for width in made.left.values())
    if is_encoder and (data := given.take("data", {*range(_POINT_BITS, 32), *range(32, 4096, 32)})):
        return "encoder", data, made.take("data", whole_bytes)
    data = given.take("data", whole_bytes)
    if word := made.take("data", points):
        return "decoder", data, word
    word = made.take("data", (16,))
    return ("transcoder" if word else "validator"), data, word


def _opposite(port: str | None) -> str | None:
    return port and (port[1:] if port[0] == "!" else f"!{port}")
