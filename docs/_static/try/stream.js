// SPDX-License-Identifier: BSD-2-Clause
// A text through a circuit with AXI4-Stream ports, and the comparison of its words with the items of the table.
"use strict";

globalThis.utf8fpga ??= {};

(() => {
  const PORTS = ["tdata", "tkeep", "tuser", "tlast", "tvalid"].map((name) => `m_axis_${name}`);

  // Numbers from 0 to 1 that a seed determines (mulberry32).
  function chance(seed) {
    let state = seed | 0;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  const isPause = (pattern, cycle) => pattern[(cycle - 1) % pattern.length] === "1";

  const ones = (count) => (1n << BigInt(count)) - 1n;

  // The bytes of one packet as beats; an empty packet is one beat without a byte.
  function beatsOf(bytes, lanes) {
    const beats = [];
    for (let at = 0; at < Math.max(bytes.length, 1); at += lanes) {
      const units = Array.from(bytes.slice(at, at + lanes));
      beats.push({ units, offset: at, last: at + lanes >= bytes.length });
    }
    return beats;
  }

  // The cycles of one packet, from a reset to the beat with m_axis_tlast: objects with the value of each port.
  // `pauses` and `stalls` are patterns of 0 and 1 that are repeated from cycle 1 on, as those of `utf8fpga simulate`: at 1
  // a source with a beat does not start to send it, or m_axis_tready is deasserted. Where the input is undefined it has
  // arbitrary values.
  function simulate(circuit, bytes, { pauses = "0", stalls = "0", seed = 1, limit = 5000 } = {}) {
    const draw = chance(seed);
    const arbitrary = (bits) => BigInt(Math.floor(draw() * 2 ** 32)) & ones(bits);
    const { lanes } = circuit;
    const beats = beatsOf(bytes, lanes);
    const cycles = [];
    let sent = 0;
    let isOffered = false;
    let isDone = false;
    circuit.start();
    for (let number = 0; number < limit && !isDone; number += 1) {
      const rst = number === 0;
      isOffered ||= !rst && sent < beats.length && !isPause(pauses, number);
      const beat = isOffered ? beats[sent] : null;
      let tdata = 0n;
      for (let lane = 0; lane < lanes; lane += 1) {
        tdata |= (beat && lane < beat.units.length ? BigInt(beat.units[lane]) : arbitrary(8)) << BigInt(8 * lane);
      }
      const cycle = {
        rst,
        s_axis_tdata: tdata,
        s_axis_tkeep: beat ? ones(beat.units.length) : arbitrary(lanes),
        s_axis_tlast: beat ? beat.last : Boolean(arbitrary(1)),
        s_axis_tvalid: isOffered,
        m_axis_tready: !rst && !isPause(stalls, number),
        beat,
      };
      for (const [port, value] of Object.entries(cycle)) {
        if (port !== "beat") circuit.set(port, BigInt(value));
      }
      circuit.settle();
      cycle.s_axis_tready = circuit.get("s_axis_tready") === 1n;
      for (const port of PORTS) cycle[port] = circuit.get(port);
      cycle.m_axis_tlast = cycle.m_axis_tlast === 1n;
      cycle.m_axis_tvalid = cycle.m_axis_tvalid === 1n;
      cycles.push(cycle);
      if (!rst && isOffered && cycle.s_axis_tready) {
        sent += 1;
        isOffered = false;
      }
      isDone = !rst && cycle.m_axis_tvalid && cycle.m_axis_tready && cycle.m_axis_tlast;
      circuit.clock();
    }
    const size = circuit.output_bits.m_axis_tkeep.length / lanes;
    return { lanes, size, cycles, isDone, accepted: sent };
  }

  // The numbers of the cycles in which a stream, "s_axis" or "m_axis", transfers a beat.
  function transfers({ cycles }, stream) {
    const isTransfer = (cycle) => !cycle.rst && cycle[`${stream}_tvalid`] && cycle[`${stream}_tready`];
    return cycles.flatMap((cycle, number) => (isTransfer(cycle) ? [number] : []));
  }

  // The words of an output beat: {codePoint, isError}, or null in a lane without a word. A word has `size` bytes.
  function wordsOf({ lanes, size }, cycle) {
    return Array.from({ length: lanes }, (_, lane) => {
      const present = (cycle.m_axis_tkeep >> BigInt(size * lane)) & ones(size);
      if (present !== ones(size)) return null;
      const codePoint = Number((cycle.m_axis_tdata >> BigInt(8 * size * lane)) & ones(8 * size));
      return { codePoint, isError: ((cycle.m_axis_tuser >> BigInt(lane)) & 1n) === 1n };
    });
  }

  // The cycles in which the beat with a byte enters, and in which the word of its item is valid first and leaves;
  // undefined where there is none.
  function cyclesOf(trace, items, offset) {
    const enters = transfers(trace, "s_axis")[Math.floor(offset / trace.lanes)];
    const number = items.findIndex((item) => item.offset <= offset && offset < item.offset + item.length);
    if (number < 0) return undefined;
    let before = 0;
    let valid = 0;
    for (const leaves of transfers(trace, "m_axis")) {
      valid = trace.cycles.findIndex(({ rst, m_axis_tvalid: isValid }, cycle) => cycle >= valid && !rst && isValid);
      before += wordsOf(trace, trace.cycles[leaves]).filter(Boolean).length;
      if (before > number) return { enters, valid, leaves };
      valid = leaves + 1;
    }
    return undefined;
  }

  // What was transferred, compared with the items: {cycles, beats, words, difference}; null where all is equal.
  function compare(trace, bytes, items) {
    const { lanes, cycles, isDone, accepted } = trace;
    const words = [];
    let difference = null;
    let waiting = null;
    const differs = (message) => (difference ??= message);
    cycles.forEach((cycle, number) => {
      if (cycle.rst) return;
      const state = PORTS.map((port) => cycle[port]).join();
      if (waiting !== null && state !== waiting) differs(`cycle ${number}: the output changed while it was waiting`);
      waiting = cycle.m_axis_tvalid && !cycle.m_axis_tready ? state : null;
      if (!cycle.m_axis_tvalid || !cycle.m_axis_tready) return;
      for (const word of wordsOf(trace, cycle)) {
        if (word === null) continue;
        const item = items[words.length];
        const isEqual = item && item.codePoint === word.codePoint && (item.error !== null) === word.isError;
        if (!isEqual) differs(`cycle ${number}: word ${words.length} is not item ${words.length} of the table`);
        words.push(word);
      }
    });
    if (!isDone) differs(`the packet did not end in ${cycles.length} cycles`);
    if (accepted !== beatsOf(bytes, lanes).length) differs("the packet ended before all its bytes were accepted");
    if (words.length !== items.length) differs(`${words.length} words, but ${items.length} items`);
    return { cycles: cycles.length, beats: accepted, words: words.length, difference };
  }

  Object.assign(utf8fpga, { simulate, transfers, cyclesOf, wordsOf, compare });
})();
