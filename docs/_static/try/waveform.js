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
    return [
      { label: "clk", isClock: true },
      wire("rst"),
      wire("s_axis_tvalid"),
      wire("s_axis_tready"),
      bus(
        "s_axis_tdata",
        given((_, { units }) => units.map((unit) => hex(unit)).join(" ")),
      ),
      bus(
        "s_axis_tkeep",
        given(({ s_axis_tkeep: keep }) => binary(keep, lanes)),
      ),
      bus(
        "s_axis_tlast",
        given((_, { last }) => (last ? "1" : "0")),
      ),
      wire("m_axis_tvalid"),
      wire("m_axis_tready"),
      ...Array.from({ length: lanes }, (_, lane) => bus(`m_axis_tdata${range(lane)}`, word(lane))),
      bus(
        "m_axis_tkeep",
        made(({ m_axis_tkeep: keep }) => hex(keep, Math.ceil((size * lanes) / 4))),
      ),
      bus(
        "m_axis_tuser",
        made(({ m_axis_tuser: user }) => binary(user, lanes)),
      ),
      bus(
        "m_axis_tlast",
        made(({ m_axis_tlast: last }) => (last ? "1" : "0")),
      ),
    ];
  }

  function clockOf(count, left, step) {
    const cycle = (at) => `V${-HIGH}H${left + (at + 0.5) * step}V0H${left + (at + 1) * step}`;
    return `M${left} 0${Array.from({ length: count }, (_, at) => cycle(at)).join("")}`;
  }

  function wireOf(values, left, step) {
    const level = (value) => (value ? -HIGH : 0);
    const parts = values.map((value, at) => `V${level(value)}H${left + (at + 1) * step}`);
    return `M${left} ${level(values[0])}${parts.join("")}`;
  }

  // A bus: a box for each beat, which ends with its transfer, with the text in its first cycle.
  function busOf(texts, waits, start, step) {
    const parts = [];
    let from = 0;
    texts.forEach((text, at) => {
      if (at + 1 < texts.length && texts[at + 1] === text && (text === null || waits[at])) return;
      const [left, right] = [start + from * step, start + (at + 1) * step];
      if (text === null) {
        parts.push(`<path class="undefined" d="M${left} ${-HIGH / 2}H${right}"/>`);
      } else {
        const edge = `M${left} ${-HIGH / 2}l${SLANT} ${-HIGH / 2}H${right - SLANT}l${SLANT} ${HIGH / 2}`;
        const middle = left + step / 2;
        parts.push(
          `<path class="bus" d="${edge}l${-SLANT} ${HIGH / 2}H${left + SLANT}z"/>`,
          `<text x="${middle}" y="-4" text-anchor="middle">${text}</text>`,
        );
      }
      from = at + 1;
    });
    return parts.join("");
  }

  // The diagram of the cycles from `first` on, `count` of them. The labels are a group of their own, which can be moved
  // when the diagram is scrolled.
  function waveform(trace, first, count) {
    const cycles = trace.cycles.slice(first, first + count);
    const rows = rowsOf(trace);
    const longest = Math.max(4, ...rows.map(({ width = 0 }) => width));
    const step = Math.ceil(longest * CHARACTER + 2 * SLANT + 4);
    const left = Math.ceil(Math.max(...rows.map(({ label }) => label.length)) * CHARACTER) + 8;
    const [width, height] = [left + cycles.length * step + 8, (rows.length + 1) * ROW + 4];
    const baseline = (number) => (number + 2) * ROW - 6;
    const ticks = cycles.map((_, at) => {
      const x = left + at * step;
      return `<path class="tick" d="M${x} ${ROW - 4}V${height}"/><text class="tick" x="${x + 3}" y="16">${first + at}</text>`;
    });
    const lines = rows.map(({ isClock, value, text, waits }, number) => {
      let drawn;
      if (isClock) drawn = `<path d="${clockOf(cycles.length, left, step)}"/>`;
      else if (value) drawn = `<path d="${wireOf(cycles.map(value), left, step)}"/>`;
      else drawn = busOf(cycles.map(text), cycles.map(waits), left, step);
      return `<g transform="translate(0 ${baseline(number)})">${drawn}</g>`;
    });
    const labels = rows.map(({ label }, number) => `<text x="0" y="${baseline(number) - 4}">${label}</text>`);
    const cover = `<rect width="${left - 4}" height="${height}"/>`;
    const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">${ticks.join("")}${lines.join("")}<g class="labels">${cover}${labels.join("")}</g></svg>`;
  }

  utf8fpga.waveform = waveform;
})();
