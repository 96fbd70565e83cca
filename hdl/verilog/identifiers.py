# SPDX-License-Identifier: BSD-2-Clause
"""Identifiers that are valid in Verilog and in SystemVerilog."""

from __future__ import annotations

import re
from itertools import count

from utf8fpga.model.exceptions import InvalidArgumentError

_RESERVED = """
    always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign default defparam
    design disable edge else end endcase endconfig endfunction endgenerate endmodule endprimitive endspecify
    endtable endtask event for force forever fork function generate genvar highz0 highz1 if ifnone incdir include
    initial inout input instance integer join large liblist library localparam macromodule medium module nand
    negedge nmos nor noshowcancelled not notif0 notif1 or output parameter pmos posedge primitive pull0 pull1
    pulldown pullup pulsestyle_ondetect pulsestyle_onevent rcmos real realtime reg release repeat rnmos rpmos rtran
    rtranif0 rtranif1 scalared showcancelled signed small specify specparam strong0 strong1 supply0 supply1 table
    task time tran tranif0 tranif1 tri tri0 tri1 triand trior trireg unsigned use uwire vectored wait wand weak0
    weak1 while wire wor xnor xor
"""
_RESERVED_SINCE = """
    accept_on alias always_comb always_ff always_latch assert assume before bind bins binsof bit break byte chandle
    checker class clocking const constraint context continue cover covergroup coverpoint cross dist do endchecker
    endclass endclocking endgroup endinterface endpackage endprogram endproperty endsequence enum eventually expect
    export extends extern final first_match foreach forkjoin global iff ignore_bins illegal_bins implements implies
    import inside int interconnect interface intersect join_any join_none let local logic longint matches modport
    nettype new nexttime null package packed priority program property protected pure rand randc randcase
    randsequence ref reject_on restrict return s_always s_eventually s_nexttime s_until s_until_with sequence
    shortint shortreal soft solve static string strong struct super sync_accept_on sync_reject_on tagged this
    throughout timeprecision timeunit type typedef union unique unique0 until until_with untyped var virtual void
    wait_order weak wildcard with within
"""
_KEYWORDS = frozenset((_RESERVED + _RESERVED_SINCE).split())
"""Reserved in IEEE Std 1364-2005, annex B, and in IEEE Std 1800-2017, annex B; they are case-sensitive."""

SEPARATOR = "__"
"""Between the name of the top module and that of another one, so that cores with different names do not conflict."""

_LONGEST_NAME = 127
"""Verilator 5 does not find the file of a module with a longer name."""


def check_module_name(name: str) -> None:
    """Check that a name is valid for a module in Verilog and in SystemVerilog.

    Raises:
        InvalidArgumentError: it is not valid.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InvalidArgumentError(
            f"{name!r} is not a Verilog identifier: use letters, digits and _, not a digit first"
        )
    if len(name) > _LONGEST_NAME:
        raise InvalidArgumentError(
            f"{name[:20] + '...'!r} has {len(name)} characters, but Verilator finds names of at most {_LONGEST_NAME}"
        )
    if SEPARATOR in name:
        raise InvalidArgumentError(f"{name!r} has {SEPARATOR}, which the names of inner modules have: use single _")
    if name in _KEYWORDS:
        raise InvalidArgumentError(f"{name!r} is a keyword of Verilog or SystemVerilog: choose another module name")


def plain_identifier(name: str) -> str:
    """A name as an identifier of letters, digits and single underscores that is not a keyword.

    >>> plain_identifier("output__payload.symbols[0].code_point"), plain_identifier("$signature__addr")
    ('output_payload_symbols_0_code_point', 'signature_addr')
    >>> plain_identifier("reg")
    'reg_'
    """
    plain = re.sub("[^A-Za-z0-9]+", "_", name).strip("_") or "wires"
    if plain[0].isdigit():
        plain = f"n{plain}"
    return f"{plain}_" if plain in _KEYWORDS else plain


class Names:
    """The names of one scope, all different."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def take(self, name: str) -> str:
        """The name, with a number behind it if it is taken."""
        chosen = next(each for n in count(1) if (each := f"{name}_{n}" if n > 1 else name) not in self._taken)
        self._taken.add(chosen)
        return chosen
