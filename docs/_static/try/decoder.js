// SPDX-License-Identifier: BSD-2-Clause
// The decoder of a table: its items, and the walk through its DFA. The tables are generated (data.js), see
// docs/extensions/try_data.py; the rule is that of utf8fpga.model.Decoder, the causes are those of utf8fpga.model.cause.
"use strict";

globalThis.utf8fpga ??= {};

(() => {
  const START = 0;
  const REPLACEMENT_CHARACTER = 0xfffd;

  const within = ([first, last], value) => first <= value && value <= last;
  const product = (numbers) => numbers.reduce((left, right) => left * right, 1);
  const count = ([first, last]) => last - first + 1;

  // What `make` derives from a table, once for each.
  function derived(make) {
    const found = new WeakMap();
    return (table) => {
      if (!found.has(table)) found.set(table, make(table));
      return found.get(table);
    };
  }

  // For each byte the number of its class.
  const classesOf = derived((table) => {
    const found = new Uint8Array(256);
    table.classes.forEach((ranges, number) => ranges.forEach(([first, last]) => found.fill(number, first, last + 1)));
    return found;
  });

  // The next state; null where the byte does not continue the open sequence.
  const next = (table, state, byte) => table.states[state].transitions[classesOf(table)[byte]];

  // The numbers of the rows whose sequences start with some bytes.
  function rowsFor(table, prefix) {
    const fits = ({ units }) => prefix.length <= units.length && prefix.every((byte, at) => within(units[at], byte));
    return table.rows.flatMap((row, number) => (fits(row) ? [number] : []));
  }

  // The code point of a well-formed sequence in the bytes from `begin` to `end`.
  function codePoint(table, bytes, begin, end) {
    const fits = ({ units }) => {
      if (units.length !== end - begin) return false;
      for (let at = 0; at < units.length; at += 1) if (!within(units[at], bytes[begin + at])) return false;
      return true;
    };
    const { units, code_points: points } = table.rows.find(fits);
    let index = 0;
    for (let at = 0; at < units.length; at += 1) {
      index = index * count(units[at]) + bytes[begin + at] - units[at][0];
    }
    return index + points[0];
  }

  // The bytes of a code point; null if no row has it. A text has few different ones.
  const encodedOf = derived(() => new Map());
  function encode(table, point) {
    const known = encodedOf(table);
    if (!known.has(point)) known.set(point, sequenceOf(table, point));
    return known.get(point);
  }

  function sequenceOf(table, point) {
    const row = table.rows.find(({ code_points: points }) => within(points, point));
    if (!row) return null;
    let index = point - row.code_points[0];
    return [...row.units]
      .reverse()
      .map((range) => {
        const digit = index % count(range);
        index = Math.floor(index / count(range));
        return range[0] + digit;
      })
      .reverse();
  }

  // The code points of a pattern's sequences that start with some bytes.
  function reachable({ base, blocks }, prefix) {
    const payload = prefix.reduce((value, byte, at) => value * count(blocks[at]) + byte - blocks[at][0], 0);
    const rest = product(blocks.slice(prefix.length).map(count));
    return [base + payload * rest, base + payload * rest + rest - 1];
  }

  // The cause by the code points that a prefix would lead to; null if it fits no bit distribution.
  function causeByPattern(table, prefix) {
    let shorter = -1;
    for (const pattern of table.patterns) {
      const { blocks } = pattern;
      if (prefix.length <= blocks.length && prefix.every((byte, at) => within(blocks[at], byte))) {
        const [first, last] = reachable(pattern, prefix);
        if (last <= shorter) return "OVERLONG";
        if (first > table.last_code_point) return "OUT_OF_RANGE";
        const encoded = table.rows.some(({ code_points: points }) => points[0] <= last && first <= points[1]);
        if (!encoded) return "SURROGATE";
      }
      shorter = Math.max(shorter, reachable(pattern, [])[1]);
    }
    return null;
  }

  // The cause of one ill-formed item; `following` is null at the end of the text.
  function cause(table, subpart, following) {
    if (!rowsFor(table, subpart.slice(0, 1)).length) {
      const continues = table.rows.some(({ units }) => units.slice(1).some((range) => within(range, subpart[0])));
      return continues ? "UNEXPECTED_CONTINUATION" : (causeByPattern(table, subpart) ?? "INVALID_BYTE");
    }
    return following === null ? "INCOMPLETE" : (causeByPattern(table, [...subpart, following]) ?? "TRUNCATED");
  }

  // The walk through the DFA. A step looks at one byte: {offset, byte, from, to, begin, item}, where `begin` is the
  // offset of the open sequence and `item` the one that the step completes, or null. A byte that does not continue the
  // open sequence has two steps: one to null, which completes the ill-formed item, and another one from the start. At
  // the end of the text an open sequence has a step with byte null.
  function walk(table, bytes) {
    const steps = [];
    let state = START;
    let begin = 0;
    const wellFormed = (end) => ({
      offset: begin,
      length: end - begin,
      codePoint: codePoint(table, bytes, begin, end),
      error: null,
    });
    const illFormed = (end, following) => ({
      offset: begin,
      length: end - begin,
      codePoint: REPLACEMENT_CHARACTER,
      error: cause(table, Array.from(bytes.slice(begin, end)), following),
    });
    const step = (offset, byte, to, item) => {
      const taken = { offset, byte, from: state, to, begin, item };
      state = to ?? START;
      if (item) begin = item.offset + item.length;
      steps.push(taken);
    };
    for (let offset = 0; offset < bytes.length; offset += 1) {
      const byte = bytes[offset];
      if (state !== START && next(table, state, byte) === null) step(offset, byte, null, illFormed(offset, byte));
      const to = next(table, state, byte);
      if (to === null) step(offset, byte, null, illFormed(offset + 1, null));
      else step(offset, byte, to, to === START ? wellFormed(offset + 1) : null);
    }
    if (state !== START) step(bytes.length, null, null, illFormed(bytes.length, null));
    return steps;
  }

  // The items of a text: {offset, length, codePoint, error}, where `error` is null or the name of the cause.
  const decode = (table, bytes) => walk(table, bytes).flatMap(({ item }) => item ?? []);

  // For each byte of an item the number of its payload bits, 0 where its place in a sequence is unknown.
  function bitsOf(table, bytes) {
    const pattern = table.patterns.find(({ blocks }) => within(blocks[0], bytes[0]));
    const isInPlace = (byte, at) => pattern && at < pattern.blocks.length && within(pattern.blocks[at], byte);
    return bytes.map((byte, at) => (isInPlace(byte, at) ? Math.log2(count(pattern.blocks[at])) : 0));
  }

  // A name for each state: the bytes after which it is, if only the start leads to it, or how many bytes are missing.
  const stateNames = derived((table) => {
    const missing = table.states.map(() => 0);
    const missingIn = (number) => {
      const followers = table.states[number].transitions.filter((to) => to !== null);
      return 1 + (followers.includes(START) ? 0 : missingIn(followers[0]));
    };
    return table.states.map(({ transitions }, number) => {
      if (number === START) return "start";
      missing[number] = missingIn(number);
      const leads = table.classes.filter((_, at) => table.states[START].transitions[at] === number).flat();
      const isOfOthers = table.states.some((each, from) => from !== START && each.transitions.includes(number));
      const written = ([first, last]) => [first, last].filter((byte, at, all) => all.indexOf(byte) === at);
      const ranges = leads.map((range) => written(range).map((byte) => utf8fpga.hex(byte)).join(".."));
      const more = `${missing[number]} more`;
      return isOfOthers || ranges.length > 1 ? more : `${more} after ${ranges.join(" ")}`;
    });
  });

  Object.assign(utf8fpga, { bitsOf, stateNames });
  Object.assign(utf8fpga, { START, REPLACEMENT_CHARACTER, within, rowsFor, encode, cause, walk, decode });
})();
