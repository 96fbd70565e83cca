// SPDX-License-Identifier: BSD-2-Clause
// The page "Try it in the browser": what the visitor enters, and what is drawn.
"use strict";

(() => {
  const { START, compare, decode, encodeText, fieldsOf, hex, linkOf, literal, name, parseHex } = utf8fpga;
  const { rowsFor, simulate, spell, textOf, walk, waveform, Circuit, character, data } = utf8fpga;

  // Upper bounds, so that a long text does not make the page slow.
  const DRAWN_BYTES = 400;
  const SIMULATED_BYTES = 1100;
  const DRAWN_CYCLES = 48;
  const LINKED_BYTES = 500;
  const SHOWN_CHARACTERS = 2000;
  const PLAY_MILLISECONDS = 700;
  const SCROLL_MARGIN = 12;
  const READABLE = 0.62; // The scale of the DFA at which its text is as small as is readable.

  const at = (id) => document.getElementById(`try-${id}`);
  const state = {
    table: data.tables[0],
    bytes: [],
    items: [],
    steps: [],
    step: 0,
    trace: null,
    cycle: 0,
    seed: 1,
    timer: null,
  };

  function element(kind, properties = {}, children = []) {
    const made = Object.assign(document.createElement(kind), properties);
    made.append(...children);
    return made;
  }

  const words = (identifier) => identifier.replaceAll("_", " ").toLowerCase();
  const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

  // Items.

  function shown({ codePoint: point, error }) {
    if (error) return "\ufffd";
    const text = character(point);
    if (/^\p{M}$/u.test(text)) return `\u25cc${text}`;
    return /^[\p{C}\p{Z}]?$/u.test(text) ? "\u00a0" : text;
  }

  function drawItems() {
    const { bytes, items } = state;
    const last = items.findIndex(({ offset, length }) => offset + length > DRAWN_BYTES);
    const drawn = last < 0 ? items : items.slice(0, last);
    const boxes = drawn.map((item, number) => {
      const chips = bytes.slice(item.offset, item.offset + item.length).map((byte, place) => {
        const chip = element("span", { className: "try-byte", textContent: hex(byte) });
        chip.dataset.offset = item.offset + place;
        return chip;
      });
      const parts = [
        element("span", { className: "try-bytes" }, chips),
        element("span", { className: "try-character", textContent: shown(item) }),
        element("span", { className: "try-point", textContent: name(item.codePoint) }),
      ];
      if (item.error) parts.push(element("span", { className: "try-cause", textContent: words(item.error) }));
      const kind = item.error ? "try-ill" : `try-well-${number % 2}`;
      return element("li", { className: `try-item ${kind}` }, parts);
    });
    at("items").replaceChildren(...boxes);
    const ill = items.filter(({ error }) => error).length;
    const rest = items.length - drawn.length;
    at("count").textContent = `${plural(bytes.length, "byte")}, ${plural(items.length, "item")}, ${ill} ill-formed.`;
    at("cut").textContent = rest
      ? `${plural(rest, "more item")} not drawn: the boxes end after ${DRAWN_BYTES} bytes.`
      : "";
  }

  function drawPython() {
    const isUnicode = state.table === data.tables[0];
    const text = textOf(state.items);
    at("python").replaceChildren();
    at("browser").textContent = "";
    if (!isUnicode) return;
    const isLong = text.length > SHOWN_CHARACTERS;
    const beginning = isLong ? textOf(decode(state.table, state.bytes.slice(0, SHOWN_CHARACTERS))) : text;
    const given = isLong ? "data" : `bytes.fromhex("${spell(state.bytes)}")`;
    const code = `>>> ${given}.decode("utf-8", "replace")\n${literal(beginning)}${isLong ? " …" : ""}`;
    at("python").append(element("pre", { textContent: code }));
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const isEqual = decoder.decode(new Uint8Array(state.bytes)) === text;
    at("browser").textContent =
      `The decoder of this browser, TextDecoder, gives the same text: ${isEqual ? "yes" : "no"}.`;
  }

  // The walk.

  function describe(step) {
    if (!step) return state.bytes.length ? "" : "The text is empty: no byte, no item.";
    const { states } = state.table;
    const where = (number) => (number === START ? "the start" : `the state that awaits ${states[number].awaits}`);
    const open = spell(state.bytes.slice(step.begin, step.offset));
    const { item } = step;
    if (step.byte === null) return `End of the text: ${open} is open, one ill-formed item, ${words(item.error)}.`;
    const byte = `Byte ${step.offset}, ${hex(step.byte)}`;
    if (step.to === null && step.from === START)
      return `${byte}: starts no sequence, one ill-formed item, ${words(item.error)}.`;
    if (step.to === null) {
      return `${byte}: does not continue ${open}, which is one ill-formed item, ${words(item.error)}; ${hex(step.byte)} is looked at again.`;
    }
    if (item)
      return `${byte}: completes ${spell(state.bytes.slice(step.begin, step.offset + 1))}, ${name(item.codePoint)}.`;
    return `${byte}: from ${where(step.from)} to ${where(step.to)}.`;
  }

  function drawTable() {
    const { table } = state;
    at("dfa").innerHTML = table.svg;
    const drawing = at("dfa").firstElementChild;
    drawing.style.minWidth = `${READABLE * drawing.width.baseVal.value}px`;
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", `The minimal DFA of ${table.name}`);
    const span = ([first, last], digits) =>
      first === last ? hex(first, digits) : `${hex(first, digits)}..${hex(last, digits)}`;
    const longest = Math.max(...table.rows.map(({ units }) => units.length));
    const ordinals = Array.from({ length: longest }, (_, place) =>
      element("th", { textContent: `byte ${place + 1}`, scope: "col" }),
    );
    const heading = element("tr", {}, [element("th", { textContent: "code points", scope: "col" }), ...ordinals]);
    const rows = table.rows.map(({ code_points: points, units }) =>
      element("tr", {}, [
        element("th", { textContent: span(points, 4), scope: "row" }),
        ...Array.from({ length: longest }, (_, place) =>
          element("td", { textContent: units[place] ? span(units[place], 2) : "" }),
        ),
      ]),
    );
    at("rows").replaceChildren(element("thead", {}, [heading]), element("tbody", {}, rows));
    const classes = table.classes.length;
    at("source").textContent =
      `${table.name}: ${table.source}. ${table.rows.length} rows, ${table.states.length} states besides reject, ${classes} byte classes.`;
  }

  // The rows of the open sequence: the bytes matched so far are marked, and the byte that breaks it.
  function markRows(step) {
    const rows = [...at("rows").tBodies[0].rows];
    const isBroken = step && step.to === null && step.from !== START;
    const end = step ? step.offset + (step.byte === null || isBroken ? 0 : 1) : 0;
    const prefix = step ? state.bytes.slice(step.begin, end) : [];
    const found = prefix.length ? rowsFor(state.table, prefix) : [];
    rows.forEach((row, number) => {
      const isFound = found.includes(number);
      row.classList.toggle("try-current", isFound);
      [...row.cells].slice(1).forEach((cell, place) => {
        cell.classList.toggle("try-matched", isFound && place < prefix.length);
        cell.classList.toggle("try-broken", isFound && isBroken && place === prefix.length);
      });
    });
  }

  function markDrawing(step) {
    const drawing = at("dfa");
    drawing
      .querySelectorAll(".try-current, .try-broken")
      .forEach((part) => part.classList.remove("try-current", "try-broken"));
    if (!step) {
      drawing.querySelector(`[data-state="${START}"]`).classList.add("try-current");
      return;
    }
    if (step.to === null) {
      drawing.querySelector(`[data-state="${step.from}"]`).classList.add("try-broken");
      return;
    }
    const target = step.to === START ? "end" : step.to;
    drawing.querySelector(`[data-state="${target}"]`).classList.add("try-current");
    drawing.querySelector(`[data-edge="${step.from} ${step.to}"]`)?.classList.add("try-current");
  }

  // Scroll the drawing of the DFA, not the page, to the state that is marked.
  function showState() {
    const box = at("dfa").querySelector("g.try-current > rect, g.try-broken > rect").getBoundingClientRect();
    const frame = at("dfa").getBoundingClientRect();
    if (box.left < frame.left) at("dfa").scrollLeft += box.left - frame.left - SCROLL_MARGIN;
    if (box.right > frame.right) at("dfa").scrollLeft += box.right - frame.right + SCROLL_MARGIN;
  }

  function drawStep() {
    const step = state.steps[state.step];
    const count = state.steps.length;
    at("step").textContent = describe(step);
    at("previous").disabled = at("first").disabled = state.step === 0;
    at("next").disabled = at("play").disabled = state.step >= count - 1;
    at("items")
      .querySelectorAll(".try-current")
      .forEach((chip) => chip.classList.remove("try-current"));
    if (step) at("items").querySelector(`[data-offset="${step.offset}"]`)?.classList.add("try-current");
    markRows(step);
    markDrawing(step);
    showState();
  }

  function go(number) {
    state.step = Math.min(Math.max(number, 0), Math.max(state.steps.length - 1, 0));
    drawStep();
  }

  function play(isOn) {
    clearInterval(state.timer);
    state.timer = null;
    if (isOn) {
      state.timer = setInterval(() => {
        if (state.step >= state.steps.length - 1) play(false);
        else go(state.step + 1);
      }, PLAY_MILLISECONDS);
    }
    at("play").textContent = isOn ? "stop" : "play";
  }

  // The circuit.

  const opened = new Map();
  function circuit() {
    const chosen = data.circuits.filter(({ table }) => table === state.table.name)[at("circuit").selectedIndex];
    if (!opened.has(chosen)) opened.set(chosen, new Circuit(chosen));
    return opened.get(chosen);
  }

  function fillCircuits() {
    const number = Math.max(at("circuit").selectedIndex, 0);
    const found = data.circuits.filter(({ table }) => table === state.table.name);
    at("circuit").replaceChildren(...found.map(({ title }) => new Option(title)));
    at("circuit").selectedIndex = Math.min(number, found.length - 1);
  }

  function runCircuit() {
    const chosen = circuit();
    const share = (id) => Number(at(id).value) / 100;
    at("pauses-shown").value = `${at("pauses").value} %`;
    at("stalls-shown").value = `${at("stalls").value} %`;
    at("again").disabled = share("pauses") + share("stalls") === 0;
    const bytes = state.bytes.slice(0, SIMULATED_BYTES);
    const limit = 100 + 40 * SIMULATED_BYTES;
    state.trace = simulate(chosen, bytes, {
      pauses: share("pauses"),
      stalls: share("stalls"),
      seed: state.seed,
      limit,
    });
    const { cycles, beats, words: count, difference } = compare(state.trace, bytes, decode(state.table, bytes));
    const verdict = difference === null ? "yes" : `no: ${difference}`;
    const cut = bytes.length < state.bytes.length ? ` Simulated are the first ${plural(bytes.length, "byte")}.` : "";
    at("result").textContent =
      `${plural(cycles, "cycle")}, ${plural(beats, "beat")}, ${plural(count, "item")}; equal to the table's decoder: ${verdict}.${cut}`;
    at("result").classList.toggle("try-error", difference !== null);
    const gates = `${plural(chosen.gate_count, "and-gate")} and ${plural(chosen.latches.length, "flip-flop")}`;
    at("netlist").replaceChildren(
      `${gates} in the netlist of module ${chosen.top}, written by `,
      element("code", { textContent: chosen.command }),
      ".",
    );
    state.cycle = 0;
    drawWave();
  }

  function drawWave() {
    const count = state.trace.cycles.length;
    const end = Math.min(state.cycle + DRAWN_CYCLES, count);
    at("wave").innerHTML = waveform(state.trace, state.cycle, DRAWN_CYCLES);
    at("wave").scrollLeft = 0;
    at("window").textContent = `cycles ${state.cycle} to ${end - 1} of ${count}`;
    at("earlier").disabled = state.cycle === 0;
    at("later").disabled = end === count;
  }

  // The input.

  function refresh() {
    state.steps = walk(state.table, state.bytes.slice(0, DRAWN_BYTES));
    play(false);
    drawItems();
    drawPython();
    go(0);
    runCircuit();
    drawLink();
  }

  function drawLink() {
    const isShort = state.bytes.length <= LINKED_BYTES;
    at("link").hidden = !isShort;
    at("unlinked").hidden = isShort;
    const isDefault = (id) => at(id).selectedIndex <= 0;
    const link = !isShort
      ? ""
      : linkOf({
          hex: state.bytes.map((byte) => hex(byte)).join("") || "-",
          table: state.table === data.tables[0] ? "" : state.table.name,
          circuit: isDefault("circuit") ? "" : at("circuit").value,
          pauses: at("pauses").value === "0" ? "" : at("pauses").value,
          stalls: at("stalls").value === "0" ? "" : at("stalls").value,
          seed: state.seed === 1 ? "" : String(state.seed),
        });
    at("link").href = `#${link}`;
    // A browser may refuse to change the address of a file.
    try {
      history.replaceState(null, "", `#${link}`);
    } catch (error) {
      console.info(error.message);
    }
  }

  // What was not typed follows from the bytes; a box that shows what cannot be typed is not changed.
  function take(bytes, { fromText = false, fromHex = false } = {}) {
    state.bytes = bytes;
    at("error").textContent = "";
    at("hex").removeAttribute("aria-invalid");
    if (!fromHex) at("hex").value = spell(bytes);
    state.items = decode(state.table, bytes);
    if (!fromText) at("text").value = textOf(state.items);
    refresh();
  }

  function showError(message) {
    at("error").textContent = message;
    at("hex").setAttribute("aria-invalid", "true");
  }

  function takeHex() {
    const { bytes, error } = parseHex(at("hex").value);
    if (error) showError(error);
    else take(bytes, { fromHex: true });
  }

  function takeText() {
    take(encodeText(state.table, at("text").value), { fromText: true });
  }

  function takeTable(number) {
    state.table = data.tables[number];
    at("table").selectedIndex = number;
    fillCircuits();
    drawTable();
  }

  function takeLink() {
    const fields = fieldsOf(location.hash);
    if (!("hex" in fields)) return false;
    takeTable(
      Math.max(
        data.tables.findIndex(({ name: title }) => title === fields.table),
        0,
      ),
    );
    at("circuit").selectedIndex = Math.max(
      [...at("circuit").options].findIndex(({ value }) => value === fields.circuit),
      0,
    );
    at("pauses").value = fields.pauses ?? "0";
    at("stalls").value = fields.stalls ?? "0";
    state.seed = Number(fields.seed ?? 1) || 1;
    const { bytes, error } = parseHex(fields.hex.replace("-", ""));
    take(bytes ?? []);
    if (error) {
      at("hex").value = fields.hex;
      showError(error);
    }
    return true;
  }

  function fillExamples() {
    const groups = new Map();
    data.examples.forEach(({ group, name: title }, number) => {
      if (!groups.has(group)) groups.set(group, element("optgroup", { label: group }));
      groups.get(group).append(new Option(title, number));
    });
    at("example").replaceChildren(new Option("…", ""), ...groups.values());
  }

  function listen() {
    at("text").addEventListener("input", takeText);
    at("hex").addEventListener("input", takeHex);
    at("example").addEventListener("change", () => {
      const chosen = data.examples[at("example").value];
      if (chosen) take(parseHex(chosen.hex).bytes);
    });
    at("table").addEventListener("change", () => {
      takeTable(at("table").selectedIndex);
      take(state.bytes);
    });
    const again = () => (runCircuit(), drawLink());
    for (const id of ["circuit", "pauses", "stalls"]) at(id).addEventListener("input", again);
    at("again").addEventListener("click", () => {
      state.seed += 1;
      again();
    });
    at("first").addEventListener("click", () => go(0));
    at("previous").addEventListener("click", () => go(state.step - 1));
    at("next").addEventListener("click", () => go(state.step + 1));
    at("play").addEventListener("click", () => play(state.timer === null));
    at("earlier").addEventListener("click", () => ((state.cycle -= DRAWN_CYCLES), drawWave()));
    at("later").addEventListener("click", () => ((state.cycle += DRAWN_CYCLES), drawWave()));
    at("walk").addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: state.step - 1, ArrowRight: state.step + 1, Home: 0, End: state.steps.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      go(steps[event.key]);
    });
    at("items").addEventListener("click", (event) => {
      const offset = event.target.dataset.offset;
      if (offset === undefined) return;
      go(state.steps.findLastIndex((step) => step.offset === Number(offset)));
    });
    at("wave").addEventListener("scroll", () => {
      at("wave")
        .querySelector(".labels")
        .setAttribute("transform", `translate(${at("wave").scrollLeft} 0)`);
    });
    addEventListener("hashchange", takeLink);
  }

  at("table").replaceChildren(...data.tables.map(({ name: title }) => new Option(title)));
  fillExamples();
  listen();
  takeTable(0);
  if (!takeLink()) take(parseHex(data.start).bytes);
})();
