// SPDX-License-Identifier: BSD-2-Clause
// What the visitor types, as bytes and back; and the address that shares it.
"use strict";

globalThis.utf8fpga ??= {};

(() => {
  const { REPLACEMENT_CHARACTER } = utf8fpga;
  const LAST_CODE_POINT = 0x10ffff;

  const hex = (value, digits = 2) => value.toString(16).toUpperCase().padStart(digits, "0");
  const spell = (bytes) => Array.from(bytes, (byte) => hex(byte)).join(" ");

  // The bytes in hexadecimal, with or without separators and prefixes (0x, \x, %): {bytes}, or {error} with one
  // sentence.
  function parseHex(text) {
    const bytes = [];
    for (const given of text.split(/[\s,;]+|(?=\\x|%)/i).filter(Boolean)) {
      const word = given.replace(/^(0x|\\x|%)/i, "");
      const stranger = word.match(/[^0-9a-f]/iu);
      if (stranger) {
        return { error: `${JSON.stringify(stranger[0])} is not a hexadecimal digit: write bytes as two digits each.` };
      }
      if (word.length > 1 && word.length % 2) {
        return {
          error: `${JSON.stringify(word.slice(0, 20))} has an odd number of digits: write bytes as two digits each.`,
        };
      }
      for (let from = 0; from < word.length; from += 2) bytes.push(parseInt(word.slice(from, from + 2), 16));
    }
    return { bytes };
  }

  // A text in the encoding of a table, with U+FFFD for characters that have no sequence in it: a generator with a step
  // for each character, which returns the bytes.
  function* encoding(table, text) {
    const bytes = [];
    const instead = utf8fpga.encode(table, REPLACEMENT_CHARACTER);
    for (const character of text) {
      for (const byte of utf8fpga.encode(table, character.codePointAt(0)) ?? instead) bytes.push(byte);
      yield;
    }
    return bytes;
  }

  // The result of a generator whose steps are taken at once.
  function resultOf(work) {
    let step;
    do step = work.next();
    while (!step.done);
    return step.value;
  }
  const encodeText = (table, text) => resultOf(encoding(table, text));

  const character = (point) => (point <= LAST_CODE_POINT ? String.fromCodePoint(point) : "");
  const textOf = (items) => items.map(({ codePoint }) => character(codePoint)).join("");
  const name = (point) => `U+${hex(point, 4)}`;

  // The name of a character in the Unicode Standard; what it is where there is none; "" where the page has none.
  // `names`: entries {first, names} with a name for each code point from the first on, {first, last, prefix} where a name
  // is a prefix and the code point, and {first, last, prefix, parts} where it is a prefix and one of each list of parts.
  const KINDS = [
    [/\p{Cc}/u, "control character"],
    [/\p{Co}/u, "private use"],
    [/\p{Cs}/u, "surrogate"],
    [/\p{Cn}/u, "not assigned"],
  ];
  const listOf = (entry) => (entry.list ??= entry.names.split("|"));
  function characterName(names, point) {
    const entry = names.find(
      (each) => each.first <= point && point <= (each.last ?? each.first + listOf(each).length - 1),
    );
    let found = "";
    if (entry?.names !== undefined) found = listOf(entry)[point - entry.first];
    else if (entry?.parts) {
      let index = point - entry.first;
      for (const part of [...entry.parts].reverse()) {
        found = part[index % part.length] + found;
        index = Math.floor(index / part.length);
      }
      found = entry.prefix + found;
    } else if (entry) found = entry.prefix + hex(point, 4);
    return found || (KINDS.find(([kind]) => kind.test(character(point)))?.[1] ?? "");
  }

  // A text as Python prints it: with escapes for what is not visible.
  const ESCAPES = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
  function literal(text) {
    const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
    const escape = (found) => {
      const point = found.codePointAt(0);
      if (found === '"' || found === "'") return found === quote ? `\\${found}` : found;
      if (found in ESCAPES) return ESCAPES[found];
      const [letter, digits] = point > 0xffff ? ["U", 8] : point > 0xff ? ["u", 4] : ["x", 2];
      return `\\${letter}${hex(point, digits).toLowerCase()}`;
    };
    return `${quote}${text.replace(/[\\"']|\p{C}|(?! )\p{Z}/gu, escape)}${quote}`;
  }

  // The part of the address after #, from and to an object of strings.
  function linkOf(fields) {
    const given = Object.entries(fields).filter(([, value]) => value !== "");
    return given.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  }
  function fieldsOf(link) {
    const fields = {};
    for (const part of link.replace(/^#/, "").split("&")) {
      const [key, value = ""] = part.split("=");
      try {
        if (key) fields[key] = decodeURIComponent(value);
      } catch {
        // Not an address of this page: the field keeps its default.
      }
    }
    return fields;
  }

  Object.assign(utf8fpga, { hex, spell, parseHex, encoding, encodeText, resultOf, character, textOf, name });
  Object.assign(utf8fpga, { characterName, literal, linkOf, fieldsOf });
})();
