// SPDX-License-Identifier: BSD-2-Clause
// The page to try: what the visitor enters, and what is drawn. One byte is the current one; `mark` lights
// it up everywhere.
"use strict";

(() => {
  const { START, Circuit, bitsOf, character, columnsOf, compare, data, encodeText, fieldsOf } = utf8fpga;
  const { hex, joined, linkOf, name, parseHex, rowsFor, simulate, span, spell, stateNames, textOf, walk } = utf8fpga;

  const MOST = 400; // Bytes that are decoded and simulated; more would make the page slow.
  const [UTF_8] = data.tables;
  const at = (id) => document.getElementById(`try-${id}`);
  const state = { table: UTF_8, bytes: [], steps: [], items: [], current: 0 };

  function element(kind, properties = {}, children = []) {
    const made = Object.assign(document.createElement(kind), properties);
    made.append(...children);
    return made;
  }

  const words = (identifier) => identifier.replaceAll("_", " ").toLowerCase();
  const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const spoken = ({ codePoint, error }) => (error ? `ill-formed, ${words(error)}` : name(codePoint));
  const isSurrogate = ({ codePoint }) => 0xd800 <= codePoint && codePoint <= 0xdfff;
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
        element("span", { className: "try-point", textContent: name(item.codePoint) + (isSurrogate(item) ? " surrogate" : "") }),
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
    let browser = "";
    if (state.table === UTF_8) {
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(state.bytes));
      browser = ` This browser's own decoder gives the same text: ${text === textOf(state.items) ? "yes" : "no"}.`;
    }
    const counts = `${plural(state.bytes.length, "byte")}, ${plural(state.items.length, "item")}, ${ill} ill-formed.`;
    at("count").textContent = counts + browser;
    const command = `$ utf8fpga decode --json --hex '${spell(state.bytes)}'`;
    const other = "# utf8fpga decode has --table cesu-8 and modified-utf-8, which put pairs together.";
    at("decode").textContent = state.table === UTF_8 ? command : other;
  }

  // Table and DFA.

  const rangesOf = (transitions, isMeant) => {
    const ranges = transitions.flatMap((to, at) => (isMeant(to) ? state.table.classes[at] : []));
    return joined(ranges).map((range) => span(range)).join(" ");
  };

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
    const order = (number) => (number === START ? "" : names[number]);
    const numbers = [...names.keys()].sort((one, other) => order(one).localeCompare(order(other)));
    const boxes = numbers.map((number) => {
      const { transitions } = table.states[number];
      const targets = [...new Set(transitions)].filter((to) => to !== null);
      const lines = targets.map((to) => {
        const ranges = rangesOf(transitions, (each) => each === to);
        const line = element("li", { textContent: `${ranges} → ${to === START ? "done" : names[to]}` });
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

  // The current byte.

  function describe(step, broken) {
    if (!step) return "The text is empty.";
    const { item } = step;
    let subject = `Byte ${step.offset}, ${hex(step.byte)},`;
    if (broken) {
      const ranges = rangesOf(state.table.states[broken.from].transitions, (to) => to !== null);
      const open = spell(state.bytes.slice(broken.begin, step.offset));
      subject += ` is not in ${ranges}, so ${open} becomes U+FFFD. Looked at again from the start, ${hex(step.byte)}`;
    }
    if (step.to === null) return `${subject} starts no sequence: ${spoken(item)}.`;
    if (item) return `${subject} completes ${spell(state.bytes.slice(step.begin, step.offset + 1))}: ${spoken(item)}.`;
    return `${subject} leaves a sequence open: ${stateNames(state.table)[step.to]}.`;
  }

  // The step in which a byte is looked at; for one that breaks a sequence, the one from the start.
  const stepOf = (offset) => state.steps.findLast((step) => step.offset === offset && step.byte !== null);

  function mark(offset) {
    state.current = Math.min(Math.max(offset, 0), Math.max(state.bytes.length - 1, 0));
    const step = stepOf(state.current);
    const broken = state.steps.find(({ offset: at, to, from }) => at === state.current && to === null && from !== START);
    at("step").textContent = describe(step, broken);
    for (const part of document.querySelectorAll(".try-current, .try-broken")) {
      part.classList.remove("try-current", "try-broken");
    }
    for (const chip of at("items").querySelectorAll(".try-byte")) {
      const isCurrent = Number(chip.dataset.offset) === state.current;
      chip.classList.toggle("try-current", isCurrent);
      chip.tabIndex = isCurrent ? 0 : -1;
    }
    const rowsOf = ({ begin }, end) =>
      rowsFor(state.table, state.bytes.slice(begin, end)).map((number) => at("rows").tBodies[0].rows[number]);
    const boxOf = ({ from }) => at("dfa").querySelector(`[data-state="${from}"]`);
    if (step) {
      for (const row of rowsOf(step, step.offset + 1)) {
        const cells = [...row.cells].slice(1, 2 + step.offset - step.begin);
        for (const part of [row, ...cells]) part.classList.add("try-current");
      }
      boxOf(step).classList.add(step.to === null ? "try-broken" : "try-current");
      at("dfa").querySelector(`[data-edge="${step.from} ${step.to}"]`)?.classList.add("try-current");
    }
    if (broken) {
      // The state that did not accept the byte, and the cells that exclude it.
      boxOf(broken).classList.add("try-broken");
      const place = 1 + broken.offset - broken.begin;
      for (const row of rowsOf(broken, broken.offset)) row.cells[place].classList.add("try-broken");
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
    if (pointed(event)) at("items").querySelector(".try-byte.try-current").focus();
  }

  // The circuit.

  const chosen = () => data.circuits.filter(({ table }) => table === state.table.name)[at("circuit").selectedIndex];

  function runCircuit() {
    const netlist = chosen();
    const options = { pauses: at("pauses").value, stalls: at("stalls").value, limit: 100 + 40 * MOST };
    const trace = simulate(new Circuit(netlist), state.bytes, options);
    const { cycles, words: count, difference } = compare(trace, state.bytes, state.items);
    const verdict = difference === null ? "equal to the items above" : `not as the items above: ${difference}`;
    at("verdict").textContent = `${plural(cycles, "cycle")} (cycle 0 is the reset), ${plural(count, "word")}, ${verdict}.`;
    at("verdict").classList.toggle("try-error", difference !== null);
    state.trace = trace;
    at("wave").innerHTML = utf8fpga.waveform(trace, columnsOf(trace), matchMedia("(max-width: 44em)").matches);
    const size = `${plural(netlist.gate_count, "and-gate")} and ${plural(netlist.latches.length, "flip-flop")}`;
    const others = state.table === UTF_8 ? "" : " For tables other than UTF-8 the page has the smallest decoder only.";
    at("netlist").textContent =
      `The netlist has ${size}. A word is valid at most ${plural(netlist.latency, "cycle")} after the last byte that it ` +
      `depends on; after a cut-off sequence that is the byte behind it.${others}`;
    const pauses = [["--input-pauses", options.pauses], ["--output-pauses", options.stalls]];
    const words = pauses.flatMap(([option, pattern]) => (pattern === "0" ? [] : [option, pattern]));
    const command = ["utf8fpga simulate", netlist.options, ...words, `--hex '${spell(state.bytes)}'`, "--vcd wave.vcd"];
    const isCommand = netlist.options !== null;
    at("simulate").textContent = isCommand
      ? `$ ${command.filter(Boolean).join(" ")}`
      : `# utf8fpga simulate has no table ${state.table.name}.`;
    markWave();
  }

  // Mark the cycles in which the beat with the current byte is sent and in which the word of its item is valid.
  function markWave() {
    const drawing = at("wave").firstElementChild;
    if (!drawing || !state.trace) return;
    drawing.querySelectorAll(".try-here").forEach((part) => part.classList.remove("try-here"));
    const found = utf8fpga.cyclesOf(state.trace, state.items, state.current);
    at("cycles").textContent = found ? when(found) : "";
    for (const cycle of found ? [found.enters, found.leaves] : []) {
      const column = drawing.querySelector(`[data-column="${cycle}"]`);
      column.classList.add("try-here");
      utf8fpga.reveal(at("wave"), column);
    }
  }

  function when({ enters, valid, leaves }) {
    const item = state.items.find(({ offset, length }) => state.current < offset + length);
    const waits = valid < leaves ? `is valid from cycle ${valid} on and ` : "";
    const byte = `Byte ${state.current}, ${hex(state.bytes[state.current])}, enters in cycle ${enters}`;
    return `${byte}. Its word, ${name(item.codePoint)}, ${waits}leaves in cycle ${leaves}.`;
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
    if (state.table !== UTF_8) fields.table = state.table.name;
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
    document.querySelectorAll(".try-result, #try-text").forEach((part) => part.classList.toggle("try-stale", message !== ""));
  }

  // The first bytes of a long text, to the end of an item.
  function cut(bytes) {
    if (bytes.length <= MOST) return bytes;
    const items = utf8fpga.decode(state.table, bytes.slice(0, MOST + 1));
    const { offset, length } = items.findLast((item) => item.offset + item.length <= MOST);
    return bytes.slice(0, offset + length);
  }

  function take(bytes, typed = "") {
    setError("");
    state.bytes = cut(bytes);
    const isCut = state.bytes.length < bytes.length;
    const note = `The page and its commands take the first ${state.bytes.length} of ${bytes.length} bytes.`;
    at("cut").textContent = isCut ? note : "";
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
  at("example").append(...data.examples.map(({ name: title }) => new Option(title)));
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
  at("example").addEventListener("change", () => {
    const example = data.examples[at("example").selectedIndex];
    const number = data.tables.findIndex(({ name: title }) => title === example.table);
    if (data.tables[number] !== state.table) takeTable(number);
    take(parseHex(example.hex).bytes);
  });
  at("table").addEventListener("change", () => {
    takeTable(at("table").selectedIndex);
    take(state.bytes);
  });
  for (const id of ["circuit", "pauses", "stalls"]) at(id).addEventListener("input", draw);
  const pointed = (event) => event.target.closest?.(".try-byte");
  for (const kind of ["pointerover", "click"]) {
    at("items").addEventListener(kind, (event) => pointed(event) && mark(Number(pointed(event).dataset.offset)));
  }
  for (const id of ["items", "wave"]) at(id).addEventListener("keydown", moveByKey);
  addEventListener("hashchange", takeLink);
  takeLink();
})();
