// SPDX-License-Identifier: BSD-2-Clause
// What the visitor types, as bytes and back; and the address that shares it.
"use strict";

globalThis.utf8fpga ??= {};

(() => {
  const { REPLACEMENT_CHARACTER } = utf8fpga;
  const LAST_CODE_POINT = 0x10ffff;

  const hex = (value, digits = 2) => value.toString(16).toUpperCase().padStart(digits, "0");
  const span = ([first, last], digits = 2) =>
    first === last ? hex(first, digits) : `${hex(first, digits)}..${hex(last, digits)}`;
  const spell = (bytes) => Array.from(bytes, (byte) => hex(byte)).join(" ");

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
      if (word.length % 2) {
        return {
          error: `${JSON.stringify(word.slice(0, 20))} has an odd number of digits: write bytes as two digits each.`,
        };
      }
      for (let from = 0; from < word.length; from += 2) bytes.push(parseInt(word.slice(from, from + 2), 16));
    }
    return { bytes };
  }

  // The bytes of a text in the encoding of a table. A character that has no sequence in it is encoded as its surrogates,
  // and a surrogate that has none as U+FFFD.
  function encodeText(table, text) {
    const instead = utf8fpga.encode(table, REPLACEMENT_CHARACTER);
    const unit = (each) => utf8fpga.encode(table, each.charCodeAt(0)) ?? instead;
    return Array.from(text).flatMap((each) => utf8fpga.encode(table, each.codePointAt(0)) ?? each.split("").flatMap(unit));
  }

  const character = (point) => (point <= LAST_CODE_POINT ? String.fromCodePoint(point) : "");
  const textOf = (items) => items.map(({ codePoint }) => character(codePoint)).join("");
  const name = (point) => `U+${hex(point, 4)}`;

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

  Object.assign(utf8fpga, { hex, span, spell, joined, parseHex, encodeText, character, textOf, name, linkOf, fieldsOf });
})();
