// SPDX-License-Identifier: BSD-2-Clause
// The cycles of a simulation as a timing diagram in SVG.
"use strict";

globalThis.utf8fpga ??= {};

(() => {
  const { hex, name, wordsOf } = utf8fpga;
  const ROW = 26;
  const HIGH = 16;
  const SLANT = 4;
  const CHARACTER = 7.3;
  const GAP = 64; // The width of a column in place of several cycles.

  const binary = (value, bits) => value.toString(2).padStart(bits, "0");

  // Each row: its name, and for a cycle the value of a wire (a boolean) or the text of a bus (null: undefined); `waits`
  // tells whether the beat is not transferred in the cycle.
  function rowsOf(trace) {
    const { lanes, size, cycles } = trace;
    const longest = (text) => Math.max(...cycles.map((cycle) => (text(cycle) ?? "").length));
    const bus = (label, text) => ({
      label,
      text,
      width: longest(text),
      waits: (cycle) => !cycle[label.slice(0, 7) + "tready"],
    });
    const wire = (label) => ({ label, value: (cycle) => cycle[label] });
    const given = (text) => (cycle) => (cycle.beat ? text(cycle, cycle.beat) : null);
    const made = (text) => (cycle) => (cycle.m_axis_tvalid ? text(cycle) : null);
    const word = (lane) =>
      made((cycle) => {
        const found = wordsOf(trace, cycle)[lane];
        return found && name(found.codePoint);
      });
    const range = (lane) => (lanes > 1 ? `[${8 * size * (lane + 1) - 1}:${8 * size * lane}]` : "");
    const radix = (row, kind) => ({ ...row, radix: kind });
    const keepOf = ({ m_axis_tkeep: keep }) => (lanes === 1 ? binary(keep, size) : hex(keep, size * lanes / 4));
    return [
      { label: "clk", isClock: true },
      wire("rst"),
      wire("s_axis_tvalid"),
      wire("s_axis_tready"),
      radix(
        bus(
          "s_axis_tdata",
          given((_, { units }) => units.map((unit) => hex(unit)).join(" ")),
        ),
        "hex, first byte left",
      ),
      radix(
        bus(
          "s_axis_tkeep",
          given(({ s_axis_tkeep: keep }) => binary(keep, lanes)),
        ),
        "binary",
      ),
      bus(
        "s_axis_tlast",
        given((_, { last }) => (last ? "1" : "0")),
      ),
      wire("m_axis_tvalid"),
      wire("m_axis_tready"),
      ...Array.from({ length: lanes }, (_, lane) =>
        radix(bus(`m_axis_tdata${range(lane)}`, word(lane)), "code point"),
      ),
      radix(bus("m_axis_tkeep", made(keepOf)), lanes === 1 ? "binary" : "hex"),
      radix(
        bus(
          "m_axis_tuser",
          made(({ m_axis_tuser: user }) => binary(user, lanes)),
        ),
        "binary: error",
      ),
      bus(
        "m_axis_tlast",
        made(({ m_axis_tlast: last }) => (last ? "1" : "0")),
      ),
    ];
  }

  // The columns of a diagram: cycles, and {first, last} in place of several cycles without a transfer and without output,
  // so that what a pipeline outputs stands beside what it was sent.
  const FOLDED = 3;
  const isCycle = (column) => typeof column === "number";
  function columnsOf({ cycles }) {
    const isQuiet = (cycle) => !cycle.rst && !(cycle.beat && cycle.s_axis_tready) && !cycle.m_axis_tvalid;
    const columns = [];
    for (let at = 0; at < cycles.length; at += 1) {
      let end = at;
      while (end < cycles.length && isQuiet(cycles[end])) end += 1;
      if (end - at >= FOLDED) {
        columns.push({ first: at, last: end - 1 });
        at = end - 1;
      } else columns.push(at);
    }
    return columns;
  }

  // `xs`: where each column begins, and the end of the last one.
  function clockOf(columns, xs) {
    const cycle = (column, at) =>
      isCycle(column) ? `V${-HIGH}H${(xs[at] + xs[at + 1]) / 2}V0H${xs[at + 1]}` : `H${xs[at + 1]}`;
    return `M${xs[0]} 0${columns.map(cycle).join("")}`;
  }

  function wireOf(values, xs) {
    const level = (value) => (value ? -HIGH : 0);
    const parts = values.map((value, at) => `V${level(value)}H${xs[at + 1]}`);
    return `M${xs[0]} ${level(values[0])}${parts.join("")}`;
  }

  // A bus: a box for each beat, which ends with its transfer, with the text in the first cycle that has a column.
  function busOf(texts, waits, columns, xs) {
    const parts = [];
    let from = 0;
    texts.forEach((text, at) => {
      if (at + 1 < texts.length && texts[at + 1] === text && (text === null || waits[at])) return;
      const [left, right] = [xs[from], xs[at + 1]];
      if (text === null) {
        parts.push(`<path class="undefined" d="M${left} ${-HIGH / 2}H${right}"/>`);
      } else {
        const edge = `M${left} ${-HIGH / 2}l${SLANT} ${-HIGH / 2}H${right - SLANT}l${SLANT} ${HIGH / 2}`;
        const place = Math.max(
          columns.findIndex((column, number) => number >= from && number <= at && isCycle(column)),
          from,
        );
        const middle = (xs[place] + xs[place + 1]) / 2;
        parts.push(
          `<path class="bus" d="${edge}l${-SLANT} ${HIGH / 2}H${left + SLANT}z"/>`,
          `<text x="${middle}" y="-4" text-anchor="middle">${text}</text>`,
        );
      }
      from = at + 1;
    });
    return parts.join("");
  }

  // A sentence for those who do not see the diagram.
  function summary(trace, first, last) {
    const count = (stream) =>
      trace.cycles
        .slice(first, last + 1)
        .filter((cycle) => !cycle.rst && cycle[`${stream}_tvalid`] && cycle[`${stream}_tready`]).length;
    return `Timing diagram, cycles ${first} to ${last}: ${count("s_axis")} beats transferred at the input, ${count("m_axis")} at the output`;
  }

  const firstOf = (column) => column.first ?? column;
  const lastOf = (column) => column.last ?? column;

  // The diagram of some columns. The labels are a group of their own, which can be moved when the diagram is scrolled.
  // They name the radix; with `isShort` with three letters.
  function waveform(trace, columns, isShort = false) {
    const cycles = columns.map((column) => trace.cycles[firstOf(column)]);
    const rows = rowsOf(trace);
    const longest = Math.max(4, ...rows.map(({ width = 0 }) => width));
    const step = Math.ceil(longest * CHARACTER + 2 * SLANT + 4);
    const titleOf = ({ label, radix }) => {
      if (!radix || (isShort && radix === "code point")) return label; // It begins with U+.
      return isShort ? `${label} ${radix.slice(0, 3)}` : `${label} (${radix})`;
    };
    const titles = rows.map(titleOf);
    const left = Math.ceil(Math.max(...titles.map((title) => title.length)) * CHARACTER) + 8;
    const xs = [left];
    for (const column of columns) xs.push(xs.at(-1) + (isCycle(column) ? step : GAP));
    const [width, height] = [xs.at(-1) + 8, (rows.length + 1) * ROW + 4];
    const baseline = (number) => (number + 2) * ROW - 6;
    const ticks = cycles.map((_, at) => {
      const area = `<rect data-column="${columns[at]}" x="${xs[at]}" y="0" width="${xs[at + 1] - xs[at]}" height="${height}"/>`;
      const line = `${area}<path class="tick" d="M${xs[at]} ${ROW - 4}V${height}"/>`;
      if (!isCycle(columns[at])) return line;
      return `${line}<text class="tick" data-cycle="${columns[at]}" x="${xs[at] + 3}" y="16">${columns[at]}</text>`;
    });
    const folds = columns.map((column, at) => {
      if (isCycle(column)) return "";
      const middle = (xs[at] + xs[at + 1]) / 2;
      const dots = rows.map(
        (_, number) => `<text x="${middle}" y="${baseline(number) - 4}" text-anchor="middle">⋯</text>`,
      );
      const frame = `<rect class="fold" x="${xs[at]}" y="0" width="${GAP}" height="${height}"/>`;
      return `${frame}<text class="tick" x="${middle}" y="16" text-anchor="middle">${column.first}–${column.last}</text>${dots.join("")}`;
    });
    const lines = rows.map(({ isClock, value, text, waits }, number) => {
      let drawn;
      if (isClock) drawn = `<path d="${clockOf(columns, xs)}"/>`;
      else if (value) drawn = `<path d="${wireOf(cycles.map(value), xs)}"/>`;
      else drawn = busOf(cycles.map(text), cycles.map(waits), columns, xs);
      return `<g transform="translate(0 ${baseline(number)})">${drawn}</g>`;
    });
    const labels = titles.map((title, number) => `<text x="0" y="${baseline(number) - 4}">${title}</text>`);
    const cover = `<rect width="${left - 4}" height="${height}"/>`;
    const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
    const label = `aria-label="${summary(trace, firstOf(columns[0]), lastOf(columns.at(-1)))}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" ${label}>${[...ticks, ...lines, ...folds].join("")}<g class="labels">${cover}${labels.join("")}</g></svg>`;
  }

  // Scroll a diagram so far that a column is visible beside the labels.
  function reveal(frame, column) {
    const covered = frame.querySelector(".labels rect").width.baseVal.value;
    const [x, width] = [column.x.baseVal.value, column.width.baseVal.value];
    if (x - covered < frame.scrollLeft) frame.scrollLeft = x - covered - SLANT;
    if (x + width > frame.scrollLeft + frame.clientWidth) frame.scrollLeft = x + width - frame.clientWidth + SLANT;
  }

  // The labels stay where they are while a diagram is scrolled.
  globalThis.document?.addEventListener(
    "scroll",
    ({ target }) => {
      // The page scrolls, too, but it is no element.
      if (target instanceof Element)
        target.querySelector(".labels")?.setAttribute("transform", `translate(${target.scrollLeft} 0)`);
    },
    true,
  );

  Object.assign(utf8fpga, { columnsOf, waveform, reveal });
})();
