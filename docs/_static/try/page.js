// SPDX-License-Identifier: BSD-2-Clause
// The page "Try it in the browser": what the visitor enters, and what is drawn.
"use strict";

(() => {
  const { START, compare, decode, encoding, fieldsOf, hex, linkOf, literal, name, parseHex, practised } = utf8fpga;
  const { characterName, columnsOf, firstLatency, rowsFor, simulation, spell, stepsOf, textOf, walk, waveform } = utf8fpga;
  const { Circuit, character, data } = utf8fpga;

  // Upper bounds, so that a long text does not make the page slow.
  const DRAWN_BYTES = 400;
  const NAMED_ITEMS = 16;
  const DIVIDED_BYTES = 24;
  const BOXED = 20000; // Bytes or characters in a box that shows what was typed into the other one.
  const SIMULATED_BYTES = 1100;
  const DRAWN_COLUMNS = 48;
  const LINKED_BYTES = 500;
  const SHOWN_CHARACTERS = 2000;
  const PLAY_MILLISECONDS = 700;
  const SLICE_MILLISECONDS = 12;
  const SLICE_STEPS = 256;
  const TURN = 0.6; // The part of the diagram's width by which "earlier" and "later" scroll.
  const SCROLL_MARGIN = 12;
  const READABLE = 0.62; // The scale of the DFA at which its text is as small as is readable.
  const WIDE = 2000; // The width from which the DFA is scrolled in any window.

  const at = (id) => document.getElementById(`try-${id}`);
  const state = {
    table: data.tables[0],
    bytes: [],
    isInvalid: false,
    items: [], // Those within the first DRAWN_BYTES.
    steps: [],
    step: 0,
    trace: null,
    columns: [],
    column: 0,
    seed: 1,
    timer: null,
  };

  // The result of a generator, some steps at a time, so that the page answers meanwhile. A newer work of the same kind
  // ends an older one, whose result is undefined.
  const newest = {};
  async function inSlices(kind, work) {
    const mine = (newest[kind] = {});
    for (let end = performance.now() + SLICE_MILLISECONDS; ;) {
      for (let count = 0; count < SLICE_STEPS; count += 1) {
        const { done, value } = work.next();
        if (done) return value;
      }
      if (performance.now() > end) {
        await new Promise((resolve) => setTimeout(resolve));
        if (newest[kind] !== mine) return undefined;
        end = performance.now() + SLICE_MILLISECONDS;
      }
    }
  }

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

  const nameOf = ({ codePoint, error }) => (error ? "" : characterName(data.names, codePoint));
  const spoken = (item) =>
    item.error ? `ill-formed, ${words(item.error)}` : `${name(item.codePoint)} ${nameOf(item)}`.trim();

  function byteOf(item, place) {
    const offset = item.offset + place;
    const digits = hex(state.bytes[offset]);
    const chip = element("button", { type: "button", className: "try-byte", textContent: digits, tabIndex: -1 });
    chip.dataset.offset = offset;
    chip.setAttribute("aria-label", `byte ${offset}, ${digits}, ${spoken(item)}`);
    return chip;
  }

  function drawItems() {
    const { items } = state;
    const boxes = items.map((item, number) => {
      const chips = Array.from({ length: item.length }, (_, place) => byteOf(item, place));
      const parts = [
        element("span", { className: "try-bytes" }, chips),
        element("span", { className: "try-character", textContent: shown(item) }),
        element("span", { className: "try-point", textContent: name(item.codePoint) }),
      ];
      if (item.error) parts.push(element("span", { className: "try-cause", textContent: words(item.error) }));
      else if (items.length <= NAMED_ITEMS) {
        parts.push(element("span", { className: "try-name", textContent: nameOf(item).toLowerCase() }));
      }
      const kind = item.error ? "try-ill" : `try-well-${number % 2}`;
      return element("li", { className: `try-item ${kind}`, title: spoken(item) }, parts);
    });
    at("items").replaceChildren(...boxes);
  }

  // The marks of each practice, and how the bytes around the first one are divided.
  function drawPractices() {
    const { items } = state;
    const first = items.findIndex(({ error }) => error);
    at("practices").hidden = first < 0;
    at("agreed").textContent = first < 0 && items.length ? "No item is ill-formed: all practices agree." : "";
    if (first < 0) return;
    const isUnicode = state.table === data.tables[0];
    const end = items.at(-1).offset + items.at(-1).length;
    const bytes = state.bytes.slice(0, end);
    const browser = isUnicode ? browserText(bytes) : null;
    const from = items[Math.max(first - 1, 0)].offset;
    const rows = data.practices.map((practice) => {
      const found = practised(practice, items, bytes);
      const drawn = found.filter(({ offset, length }) => from <= offset && offset + length <= from + DIVIDED_BYTES);
      const groups = drawn.map((item) =>
        element("span", {
          className: item.error ? "try-mark" : "",
          textContent: spell(bytes.slice(item.offset, item.offset + item.length)),
        }),
      );
      const marks = found.filter(({ error }) => error).length;
      const isSame = browser === null ? "" : textOf(found) === browser ? "yes" : "no";
      return element("tr", {}, [
        element("th", { scope: "row" }, [element("code", { textContent: practice.name })]),
        element("td", { textContent: marks }),
        element("td", { className: "try-division" }, groups),
        element("td", { textContent: isSame }),
        element("td", { textContent: practice.unit }),
      ]);
    });
    at("practices").tBodies[0].replaceChildren(...rows);
  }

  const browserText = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));

  function drawPython(text) {
    at("python").replaceChildren();
    at("browser").textContent = "";
    if (state.table !== data.tables[0]) return;
    const isLong = text.length > SHOWN_CHARACTERS;
    const beginning = isLong ? textOf(decode(state.table, state.bytes.slice(0, SHOWN_CHARACTERS))) : text;
    const given = isLong ? "data" : `bytes.fromhex("${spell(state.bytes)}")`;
    const code = `>>> ${given}.decode("utf-8", "replace")\n${literal(beginning)}${isLong ? " …" : ""}`;
    at("python").append(element("pre", { textContent: code }));
    const isEqual = browserText(state.bytes) === text;
    at("browser").textContent =
      "The decoder of this browser, TextDecoder with ignoreBOM (otherwise it removes a byte order mark at the start, which " +
      `the cores pass on), gives the same text: ${isEqual ? "yes" : "no"}.`;
  }

  // The number of items and of ill-formed ones, and the text, of any number of bytes.
  function* totalsOf(table, bytes) {
    let [count, ill, text] = [0, 0, ""];
    for (const { item } of stepsOf(table, bytes)) {
      if (item) {
        count += 1;
        ill += Number(item.error !== null);
        text += character(item.codePoint);
      }
      yield;
    }
    return { count, ill, text };
  }

  function drawTotals({ count, ill, text }) {
    const rest = count - state.items.length;
    at("count").textContent =
      `${plural(state.bytes.length, "byte")}, ${plural(count, "item")}, ${ill.toLocaleString("en")} ill-formed.`;
    at("cut").textContent = rest
      ? `${plural(rest, "more item")} not drawn: the boxes end after ${DRAWN_BYTES} bytes.`
      : "";
    drawPython(text);
  }

  // The walk.

  function describe(step) {
    if (state.isInvalid) return "There are no bytes to decode: see the message above.";
    if (!step) return "The text is empty: no byte, no item.";
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
    if (item) return `${byte}: completes ${spell(state.bytes.slice(step.begin, step.offset + 1))}, ${spoken(item)}.`;
    return `${byte}: from ${where(step.from)} to ${where(step.to)}.`;
  }

  function drawTable() {
    const { table } = state;
    at("dfa").innerHTML = table.svg;
    const drawing = at("dfa").firstElementChild;
    drawing.style.setProperty("--try-readable", `${READABLE * drawing.width.baseVal.value}px`);
    drawing.classList.toggle("try-wide", drawing.width.baseVal.value > WIDE);
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
    const prefix = step ? Array.from(state.bytes.slice(step.begin, end)) : [];
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
    for (const chip of at("items").querySelectorAll(".try-current")) {
      chip.classList.remove("try-current");
      chip.removeAttribute("aria-current");
      chip.tabIndex = -1;
    }
    const chip = chipOf(step?.offset) ?? at("items").querySelector(".try-byte:last-child");
    if (chip) chip.tabIndex = 0;
    if (step && chip?.dataset.offset === String(step.offset)) {
      chip.classList.add("try-current");
      chip.setAttribute("aria-current", "true");
    }
    markRows(step);
    markDrawing(step);
    showState();
  }

  const chipOf = (offset) => at("items").querySelector(`[data-offset="${offset}"]`);

  // The last step that looks at a byte: for one that breaks a sequence, from the start.
  const goToByte = (offset) => go(state.steps.findLastIndex((step) => step.offset === offset && step.byte !== null));

  // The keys in the list of items: to the byte beside, to the first byte of the item beside, to the ends.
  function moveInItems(event) {
    const offset = Number(event.target.dataset.offset);
    const number = state.items.findIndex((item) => item.offset <= offset && offset < item.offset + item.length);
    const last = state.items.at(-1);
    const targets = {
      ArrowLeft: offset - 1,
      ArrowRight: offset + 1,
      ArrowUp: state.items[number - 1]?.offset,
      ArrowDown: state.items[number + 1]?.offset,
      Home: 0,
      End: last && last.offset + last.length - 1,
    };
    const chip = chipOf(targets[event.key]);
    if (!(event.key in targets) || Number.isNaN(offset)) return;
    event.preventDefault();
    if (!chip) return;
    goToByte(Number(chip.dataset.offset));
    chip.focus();
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

  async function runCircuit() {
    const chosen = circuit();
    const share = (id) => Number(at(id).value) / 100;
    at("pauses-shown").value = `${at("pauses").value} %`;
    at("stalls-shown").value = `${at("stalls").value} %`;
    at("again").disabled = share("pauses") + share("stalls") === 0;
    const gates = `${plural(chosen.gate_count, "and-gate")} and ${plural(chosen.latches.length, "flip-flop")}`;
    at("netlist").replaceChildren(
      `${gates} in the netlist of module ${chosen.top}, written by `,
      element("code", { textContent: chosen.command }),
      ".",
    );
    const bytes = state.bytes.slice(0, SIMULATED_BYTES);
    const options = { pauses: share("pauses"), stalls: share("stalls"), seed: state.seed };
    const work = simulation(chosen, bytes, { ...options, limit: 100 + 40 * SIMULATED_BYTES });
    at("figure").setAttribute("aria-busy", "true");
    const trace = state.isInvalid ? null : await inSlices("circuit", work);
    if (trace === undefined) return; // There is newer input.
    at("figure").setAttribute("aria-busy", "false");
    state.trace = trace;
    at("figure").hidden = trace === null;
    at("result").textContent = at("latency").textContent = "";
    if (trace === null) return;
    const steps = walk(state.table, bytes);
    const items = steps.flatMap(({ item }) => item ?? []);
    const { cycles, beats, words: count, difference } = compare(trace, bytes, items);
    const verdict = difference === null ? "yes" : `no: ${difference}`;
    const cut = bytes.length < state.bytes.length ? ` Simulated are the first ${plural(bytes.length, "byte")}.` : "";
    at("result").textContent =
      `${plural(cycles, "cycle")}, ${plural(beats, "beat")}, ${plural(count, "item")}; equal to the table's decoder: ${verdict}.${cut}`;
    at("result").classList.toggle("try-error", difference !== null);
    const latency = firstLatency(trace, steps);
    if (latency) {
      const { sent, received } = latency;
      at("latency").textContent =
        `The first output beat is transferred in cycle ${received}, the last input beat that it needs in cycle ${sent}: a latency of ${plural(received - sent, "cycle")}. ` +
        `Specified is a latency of at most ${plural(chosen.latency, "cycle")} while the output is not stalled.`;
    }
    state.columns = columnsOf(trace);
    showOutput();
  }

  // The window of the diagram with the first beat of the output, scrolled to it if it is not visible.
  function showOutput() {
    const first = Math.max(
      state.trace.cycles.findIndex(({ rst, m_axis_tvalid: valid }) => !rst && valid),
      0,
    );
    state.column = DRAWN_COLUMNS * Math.floor(state.columns.indexOf(first) / DRAWN_COLUMNS);
    drawWave();
    const wave = at("wave");
    const [cover, tick] = [wave.querySelector(".labels rect"), wave.querySelector(`[data-cycle="${first}"]`)];
    const [covered, x] = [cover.width.baseVal.value, tick.x.baseVal[0].value];
    if (x + covered > wave.clientWidth) wave.scrollLeft = x - covered - SCROLL_MARGIN;
    markEnds();
  }

  function drawWave() {
    const columns = state.columns.slice(state.column, state.column + DRAWN_COLUMNS);
    const [first, last] = [columns[0].first ?? columns[0], columns.at(-1).last ?? columns.at(-1)];
    at("wave").innerHTML = waveform(state.trace, columns);
    at("wave").scrollLeft = 0;
    at("window").textContent = `cycles ${first} to ${last} of ${state.trace.cycles.length}`;
    markEnds();
  }

  const roomOf = ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth - 1;

  function markEnds() {
    const wave = at("wave");
    at("earlier").disabled = state.column === 0 && wave.scrollLeft <= 0;
    at("later").disabled = state.column + DRAWN_COLUMNS >= state.columns.length && wave.scrollLeft >= roomOf(wave);
    wave.querySelector(".labels").setAttribute("transform", `translate(${wave.scrollLeft} 0)`);
  }

  // Scroll the diagram, and at its end draw the columns beside. `direction`: -1 or 1.
  function turn(direction) {
    const wave = at("wave");
    if (direction > 0 ? wave.scrollLeft < roomOf(wave) : wave.scrollLeft > 0) {
      wave.scrollLeft += direction * TURN * wave.clientWidth;
    } else {
      state.column += direction * DRAWN_COLUMNS;
      drawWave();
      if (direction < 0) wave.scrollLeft = wave.scrollWidth;
    }
    markEnds();
  }

  // The input.

  // The steps for the first bytes.
  function* firstSteps() {
    for (const step of stepsOf(state.table, state.bytes)) {
      const isBreak = step.to === null && step.from !== START;
      if (step.offset > DRAWN_BYTES || (step.offset === DRAWN_BYTES && !isBreak)) return;
      yield step;
    }
  }

  function refresh() {
    state.steps = [...firstSteps()];
    state.items = state.steps.flatMap(({ item }) => item ?? []);
    play(false);
    drawItems();
    drawPractices();
    go(0);
    at("dfa").scrollLeft = 0; // The start is at the left.
    runCircuit();
    drawLink();
  }

  function drawLink() {
    const isShort = state.bytes.length <= LINKED_BYTES;
    at("link").hidden = !isShort || state.isInvalid;
    at("unlinked").hidden = isShort;
    if (state.isInvalid) return;
    const isDefault = (id) => at(id).selectedIndex <= 0;
    const link = !isShort
      ? ""
      : linkOf({
          hex: spell(state.bytes).replaceAll(" ", "") || "-",
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
  async function take(bytes, { fromText = false, fromHex = false } = {}) {
    state.bytes = bytes;
    state.isInvalid = false;
    at("error").textContent = "";
    at("hex").removeAttribute("aria-invalid");
    at("count").textContent = "…";
    if (!fromHex) fill("hex", spell(bytes.slice(0, BOXED)), bytes.length > BOXED);
    refresh();
    const totals = await inSlices("input", totalsOf(state.table, bytes));
    if (!totals) return; // There is newer input.
    drawTotals(totals);
    if (!fromText) fill("text", totals.text.slice(0, BOXED), totals.text.length > BOXED);
  }

  // A box with the beginning of a long text is not for typing.
  function fill(id, text, isCut) {
    at(id).value = isCut ? `${text} …` : text;
    at(id).readOnly = isCut;
    at("shortened").hidden = !at("hex").readOnly && !at("text").readOnly;
  }

  // Nothing is shown for bytes that are not valid.
  function showError(message) {
    newest.input = newest.circuit = null;
    Object.assign(state, { bytes: [], isInvalid: true });
    at("error").textContent = message;
    at("hex").setAttribute("aria-invalid", "true");
    fill("text", "", false);
    for (const id of ["count", "cut", "browser", "python"]) at(id).textContent = "";
    refresh();
  }

  function takeHex(text = at("hex").value) {
    const { bytes, error } = parseHex(text);
    if (error) showError(error);
    else take(bytes, { fromHex: true });
  }

  async function takeText(text = at("text").value) {
    at("count").textContent = "…";
    const bytes = await inSlices("input", encoding(state.table, text));
    if (bytes) take(bytes, { fromText: true });
  }

  // A box in which a long text was laid out would not answer for a second: it receives the beginning.
  function paste(id, takeAll, event) {
    const pasted = event.clipboardData.getData("text/plain");
    if (pasted.length <= BOXED) return;
    event.preventDefault();
    const { value, selectionStart, selectionEnd } = at(id);
    const whole = value.slice(0, selectionStart) + pasted + value.slice(selectionEnd);
    takeAll(whole);
    fill(id, whole.slice(0, BOXED), true);
  }

  function takeTable(number) {
    state.table = data.tables[number];
    at("table").selectedIndex = number;
    fillCircuits();
    drawTable();
  }

  function takeLink() {
    const fields = fieldsOf(location.hash);
    if (!["hex", "table", "circuit"].some((field) => field in fields)) return false;
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
    const digits = (fields.hex ?? data.start).replace("-", "");
    const { bytes, error } = parseHex(digits);
    if (error) {
      at("hex").value = digits;
      showError(error);
    } else take(bytes);
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
    at("text").addEventListener("input", () => takeText());
    at("hex").addEventListener("input", () => takeHex());
    at("text").addEventListener("paste", (event) => paste("text", takeText, event));
    at("hex").addEventListener("paste", (event) => paste("hex", takeHex, event));
    at("clear").addEventListener("click", () => {
      fill("hex", "", false);
      fill("text", "", false);
      take([]);
      at("text").focus();
    });
    at("example").addEventListener("change", () => {
      const chosen = data.examples[at("example").value];
      if (chosen) take(parseHex(chosen.hex).bytes);
    });
    at("table").addEventListener("change", () => {
      takeTable(at("table").selectedIndex);
      if (state.isInvalid) takeHex();
      else take(state.bytes);
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
    at("earlier").addEventListener("click", () => turn(-1));
    at("later").addEventListener("click", () => turn(1));
    at("output").addEventListener("click", showOutput);
    at("walk").addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: state.step - 1, ArrowRight: state.step + 1, Home: 0, End: state.steps.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      go(steps[event.key]);
    });
    at("items").addEventListener("click", (event) => {
      const { offset } = event.target.dataset;
      if (offset !== undefined) goToByte(Number(offset));
    });
    at("items").addEventListener("keydown", moveInItems);
    at("wave").addEventListener("scroll", markEnds);
    addEventListener("hashchange", takeLink);
  }

  at("table").replaceChildren(...data.tables.map(({ name: title }) => new Option(title)));
  fillExamples();
  listen();
  takeTable(0);
  if (!takeLink()) take(parseHex(data.start).bytes);
})();
