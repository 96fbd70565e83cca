// SPDX-License-Identifier: BSD-2-Clause
// The page "Try it in the browser": what the visitor enters, and what is drawn. One byte is the current one; `mark` lights
// it up everywhere.
"use strict";

(() => {
  const { START, Circuit, bitsOf, character, columnsOf, compare, data, encodeText, firstLatency, fieldsOf } = utf8fpga;
  const { hex, linkOf, name, parseHex, rowsFor, simulate, spell, stateNames, textOf, walk, waveform } = utf8fpga;

  const MOST = 400; // Bytes that are decoded and simulated; more would make the page slow.
  const at = (id) => document.getElementById(`try-${id}`);
  const state = { table: data.tables[0], bytes: [], steps: [], items: [], current: 0 };

  function element(kind, properties = {}, children = []) {
    const made = Object.assign(document.createElement(kind), properties);
    made.append(...children);
    return made;
  }

  const words = (identifier) => identifier.replaceAll("_", " ").toLowerCase();
  const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const spoken = ({ codePoint, error }) => (error ? `ill-formed, ${words(error)}` : name(codePoint));
  const isShown = (text) => text && !/^[\p{C}\p{Z}]$/u.test(text);
  const shown = ({ codePoint, error }) => {
    const text = error ? "\ufffd" : character(codePoint);
    return isShown(text) ? text : "\u00a0";
  };

  // The bits of a byte, those of the payload in colour.
  function bitsElement(byte, payload) {
    const digits = byte.toString(2).padStart(8, "0");
    const marker = element("span", { textContent: digits.slice(0, 8 - payload) });
    return element("span", { className: "try-bits" }, [marker, element("b", { textContent: digits.slice(8 - payload) })]);
  }

  // Items.

  function drawItems() {
    const boxes = state.items.map((item) => {
      const bytes = state.bytes.slice(item.offset, item.offset + item.length);
      const payload = bitsOf(state.table, bytes);
      const chips = bytes.map((byte, place) => {
        const parts = [element("code", { textContent: hex(byte) }), bitsElement(byte, payload[place])];
        const chip = element("button", { type: "button", className: "try-byte", tabIndex: -1 }, parts);
        chip.dataset.offset = item.offset + place;
        chip.setAttribute("aria-label", `byte ${item.offset + place}, ${hex(byte)}, ${spoken(item)}`);
        return chip;
      });
      const below = item.error ? words(item.error) : payloadOf(bytes, payload);
      const parts = [
        element("span", { className: "try-bytes" }, chips),
        element("span", { className: "try-character", textContent: shown(item) }),
        element("span", { className: "try-point", textContent: name(item.codePoint) }),
        element("span", { className: item.error ? "try-cause" : "try-payload", textContent: below }),
      ];
      return element("li", { className: `try-item ${item.error ? "try-ill" : "try-well"}` }, parts);
    });
    at("items").replaceChildren(...boxes);
  }

  const payloadOf = (bytes, payload) =>
    bytes.map((byte, at) => byte.toString(2).padStart(8, "0").slice(8 - payload[at])).join(" ");

  function drawTotals() {
    const ill = state.items.filter(({ error }) => error).length;
    const cut = state.isCut ? ` The page decodes the first ${MOST} bytes.` : "";
    let browser = "";
    if (state.table === data.tables[0]) {
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(state.bytes));
      browser = ` This browser's own decoder gives the same text: ${text === textOf(state.items) ? "yes" : "no"}.`;
    }
    const counts = `${plural(state.bytes.length, "byte")}, ${plural(state.items.length, "item")}, ${ill} ill-formed.`;
    at("count").textContent = counts + browser + cut;
    at("decode").textContent = `$ utf8fpga decode --json --hex '${spell(state.bytes)}'`;
    at("decode").hidden = state.table !== data.tables[0];
  }

  // Table and DFA.

  const span = ([first, last], digits = 2) =>
    first === last ? hex(first, digits) : `${hex(first, digits)}..${hex(last, digits)}`;

  function drawTable() {
    const { table } = state;
    const longest = Math.max(...table.rows.map(({ units }) => units.length));
    const places = Array.from({ length: longest }, (_, place) => place);
    const cells = (kind, texts) => texts.map((text) => element(kind, { textContent: text }));
    const heading = element("tr", {}, cells("th", ["code points", ...places.map((place) => `byte ${place + 1}`)]));
    const rows = table.rows.map(({ code_points: points, units }) =>
      element("tr", {}, [
        element("th", { textContent: span(points, 4), scope: "row" }),
        ...cells("td", places.map((place) => (units[place] ? span(units[place]) : ""))),
      ]),
    );
    at("rows").replaceChildren(element("thead", {}, [heading]), element("tbody", {}, rows));
    at("source").textContent =
      `${table.name}: ${table.source}. ${table.rows.length} rows, ${table.states.length} states, ` +
      `${table.classes.length} classes of bytes.`;
    const names = stateNames(table);
    const boxes = table.states.map(({ transitions }, number) => {
      const targets = [...new Set(transitions)].filter((to) => to !== null);
      const lines = targets.map((to) => {
        const ranges = transitions.flatMap((each, at) => (each === to ? table.classes[at] : []));
        const text = `${joined(ranges).map((range) => span(range)).join(" ")} → ${to === START ? "done" : names[to]}`;
        const line = element("li", { textContent: text });
        line.dataset.edge = `${number} ${to}`;
        return line;
      });
      const box = element("div", { className: "try-state" }, [
        element("strong", { textContent: names[number] }),
        element("ul", {}, lines),
      ]);
      box.dataset.state = number;
      return box;
    });
    at("dfa").replaceChildren(...boxes);
  }

  // Neighbouring ranges as one.
  function joined(ranges) {
    const found = [];
    for (const [first, last] of [...ranges].sort(([one], [other]) => one - other)) {
      const before = found.at(-1);
      if (before && before[1] + 1 === first) before[1] = last;
      else found.push([first, last]);
    }
    return found;
  }

  // The current byte.

  function describe(step) {
    if (!step) return "The text is empty.";
    const { item } = step;
    const byte = `Byte ${step.offset}, ${hex(step.byte)}`;
    const open = spell(state.bytes.slice(step.begin, step.offset));
    const broken = state.steps.find(({ offset, to, from }) => offset === step.offset && to === null && from !== START);
    const before = broken ? `${byte} breaks ${spell(state.bytes.slice(broken.begin, step.offset))}, which becomes U+FFFD. ` : "";
    if (step.to === null) return `${before}${byte} starts no sequence: ${spoken(item)}.`;
    if (item) return `${before}${byte} completes ${`${open} ${hex(step.byte)}`.trim()}: ${spoken(item)}.`;
    return `${before}${byte} leaves a sequence open: ${stateNames(state.table)[step.to]}.`;
  }

  // The step in which a byte is looked at; for one that breaks a sequence, the one from the start.
  const stepOf = (offset) => state.steps.findLast((step) => step.offset === offset && step.byte !== null);

  function mark(offset) {
    state.current = Math.min(Math.max(offset, 0), Math.max(state.bytes.length - 1, 0));
    const step = stepOf(state.current);
    at("step").textContent = describe(step);
    for (const chip of at("items").querySelectorAll(".try-byte")) {
      const isCurrent = Number(chip.dataset.offset) === state.current;
      chip.classList.toggle("try-current", isCurrent);
      chip.tabIndex = isCurrent ? 0 : -1;
    }
    const prefix = step ? state.bytes.slice(step.begin, step.offset + 1) : [];
    const found = prefix.length ? rowsFor(state.table, prefix) : [];
    [...at("rows").tBodies[0].rows].forEach((row, number) => {
      const isFound = found.includes(number);
      row.classList.toggle("try-current", isFound);
      [...row.cells].slice(1).forEach((cell, place) => {
        cell.classList.toggle("try-current", isFound && place < prefix.length);
      });
    });
    for (const part of at("dfa").querySelectorAll(".try-current, .try-broken")) {
      part.classList.remove("try-current", "try-broken");
    }
    if (step) {
      const box = at("dfa").querySelector(`[data-state="${step.from}"]`);
      box.classList.add(step.to === null ? "try-broken" : "try-current");
      at("dfa").querySelector(`[data-edge="${step.from} ${step.to}"]`)?.classList.add("try-current");
    }
    markWave();
  }

  function moveByKey(event) {
    const number = state.items.findIndex(({ offset, length }) => state.current < offset + length);
    const last = state.bytes.length - 1;
    const targets = {
      ArrowLeft: state.current - 1,
      ArrowRight: state.current + 1,
      ArrowUp: state.items[number - 1]?.offset ?? 0,
      ArrowDown: state.items[number + 1]?.offset ?? last,
      Home: 0,
      End: last,
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    mark(targets[event.key]);
    at("items").querySelector(".try-byte.try-current")?.focus();
  }

  // The circuit.

  const chosen = () => data.circuits.filter(({ table }) => table === state.table.name)[at("circuit").selectedIndex];

  function runCircuit() {
    const netlist = chosen();
    const share = (id) => Number(at(id).value) / 100;
    const limit = 100 + 40 * MOST;
    const options = { pauses: share("pauses"), stalls: share("stalls"), limit };
    const trace = simulate(new Circuit(netlist), state.bytes, options);
    const { cycles, words: count, difference } = compare(trace, state.bytes, state.items);
    const latency = firstLatency(trace, state.steps);
    const verdict = difference === null ? "equal to the items above" : `not as the items above: ${difference}`;
    const later = latency ? latency.valid - latency.sent : 0;
    const when = later ? `${plural(later, "cycle")} after` : "in the cycle of";
    const timing = latency && count ? ` The first word is valid ${when} the byte that determines it.` : "";
    at("verdict").textContent = `${plural(cycles, "cycle")}, ${plural(count, "word")}, ${verdict}.${timing}`;
    at("verdict").classList.toggle("try-error", difference !== null);
    state.trace = trace;
    at("wave").innerHTML = waveform(trace, columnsOf(trace), matchMedia("(max-width: 44em)").matches);
    const size = `${plural(netlist.gate_count, "and-gate")} and ${plural(netlist.latches.length, "flip-flop")}`;
    at("netlist").textContent = `The netlist has ${size}. Its latency is at most ${plural(netlist.latency, "cycle")}.`;
    const command = ["utf8fpga simulate", netlist.options, `--hex '${spell(state.bytes)}'`];
    at("simulate").textContent = `$ ${command.filter(Boolean).join(" ")} --vcd wave.vcd`;
    markWave();
  }

  // Mark the cycles in which the beat with the current byte is sent and in which the word of its item is valid.
  function markWave() {
    const drawing = at("wave").firstElementChild;
    if (!drawing || !state.trace) return;
    drawing.querySelectorAll(".try-here").forEach((part) => part.classList.remove("try-here"));
    for (const cycle of utf8fpga.cyclesOf(state.trace, state.items, state.current)) {
      drawing.querySelector(`[data-column="${cycle}"]`)?.classList.add("try-here");
    }
    const [first] = drawing.querySelectorAll(".try-here");
    if (first) utf8fpga.reveal(at("wave"), first);
  }

  // The input.

  function draw() {
    state.steps = walk(state.table, state.bytes);
    state.items = state.steps.flatMap(({ item }) => item ?? []);
    drawItems();
    drawTotals();
    runCircuit();
    mark(state.current);
    const fields = { hex: spell(state.bytes).replaceAll(" ", "") || "-" };
    if (state.table !== data.tables[0]) fields.table = state.table.name;
    if (at("circuit").selectedIndex > 0) fields.circuit = at("circuit").value;
    try {
      history.replaceState(null, "", `#${linkOf(fields)}`);
    } catch (error) {
      console.info(error.message); // A browser may refuse to change the address of a file.
    }
  }

  // A wrong digit leaves the last result, greyed.
  function setError(message) {
    at("error").textContent = message;
    at("hex").setAttribute("aria-invalid", String(message !== ""));
    document.querySelectorAll(".try-result").forEach((part) => part.classList.toggle("try-stale", message !== ""));
  }

  function take(bytes, typed = "") {
    setError("");
    state.isCut = bytes.length > MOST;
    state.bytes = Array.from(bytes).slice(0, MOST);
    draw();
    if (typed !== "hex") at("hex").value = spell(state.bytes);
    if (typed !== "text") at("text").value = textOf(state.items);
  }

  function takeHex(typed = "hex") {
    const { bytes, error } = parseHex(at("hex").value);
    if (error) setError(error);
    else take(bytes, typed);
  }

  function takeTable(number) {
    state.table = data.tables[number];
    at("table").selectedIndex = number;
    const found = data.circuits.filter(({ table }) => table === state.table.name);
    at("circuit").replaceChildren(...found.map(({ title }) => new Option(title)));
    drawTable();
  }

  function takeLink() {
    const fields = fieldsOf(location.hash);
    const numberOf = (list, wanted) => Math.max(list.findIndex((each) => each === wanted), 0);
    takeTable(numberOf(data.tables.map(({ name: title }) => title), fields.table));
    at("circuit").selectedIndex = numberOf([...at("circuit").options].map(({ value }) => value), fields.circuit);
    at("hex").value = (fields.hex ?? data.examples[0].hex).replace("-", "");
    state.current = 0;
    draw();
    takeHex("");
  }

  at("table").append(...data.tables.map(({ name: title }) => new Option(title)));
  at("example").append(...data.examples.map(({ name: title, hex: digits }) => new Option(title, digits)));
  // A text of one's own is no example, so that each example can be selected again.
  const takesOwn = () => (at("example").selectedIndex = -1);
  at("text").addEventListener("input", () => {
    takesOwn();
    take(encodeText(state.table, at("text").value), "text");
  });
  at("hex").addEventListener("input", () => {
    takesOwn();
    takeHex();
  });
  at("example").addEventListener("change", () => take(parseHex(at("example").value).bytes));
  at("table").addEventListener("change", () => {
    takeTable(at("table").selectedIndex);
    take(state.bytes);
  });
  for (const id of ["circuit", "pauses", "stalls"]) at(id).addEventListener("input", draw);
  const pointed = (event) => event.target.closest?.(".try-byte");
  for (const kind of ["pointerover", "click"]) {
    at("items").addEventListener(kind, (event) => pointed(event) && mark(Number(pointed(event).dataset.offset)));
  }
  at("items").addEventListener("keydown", moveByKey);
  addEventListener("hashchange", takeLink);
  takeLink();
})();
