# SPDX-License-Identifier: BSD-2-Clause
"""Identifiers that are valid in Verilog and in SystemVerilog."""

from __future__ import annotations

import re
from itertools import count

from utf8fpga.model.exceptions import InvalidArgumentError

_RESERVED = """
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
    binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
    constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge
    else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule
    endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect
    export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global
    highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input
    inside instance int integer interconnect interface intersect join join_any join_none large let liblist library local
    localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
    noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program
    property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
    rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
    signed small soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
    sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri
    tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var
    vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
"""
_KEYWORDS = frozenset(_RESERVED.split())
"""Reserved in IEEE Std 1800-2017, annex B, which has those of IEEE Std 1364-2005; they are case-sensitive."""

MOST_CHARACTERS = 127
"""Of a module name."""

SEPARATOR = "__"
"""Between the name of the top module and that of another one, so that cores with different names do not conflict."""


def check_module_name(name: str) -> None:
    """Check that a name is valid for a module in Verilog and in SystemVerilog.

    Raises:
        InvalidArgumentError: it is not valid.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise InvalidArgumentError(
            f"{name!r} is not a Verilog identifier: use letters, digits and _, not a digit first"
        )
    if len(name) > MOST_CHARACTERS:
        raise InvalidArgumentError(f"a name of {len(name)} characters: Verilator finds at most {MOST_CHARACTERS}")
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
    plain = re.sub("[^A-Za-z0-9]+", "_", name).strip("_")
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
