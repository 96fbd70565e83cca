// SPDX-License-Identifier: BSD-2-Clause
// The replacement practices, as filters over the items of `decode`: see utf8fpga.model.practices. A mark is an ill-formed
// item, one U+FFFD. All byte ranges are in the data of the practice.
"use strict";

globalThis.utf8fpga ??= {};

(() => {
  const { within } = utf8fpga;

  // A mark and the mark that follows it are one, if `mayExtend(mark, following)`.
  function merged(items, mayExtend) {
    const found = [];
    for (const item of items) {
      const mark = found.at(-1);
      if (item.error && mark?.error && mayExtend(mark, item)) {
        found[found.length - 1] = { ...mark, length: mark.length + item.length };
      } else found.push(item);
    }
    return found;
  }

  const eachUnit = (item) =>
    item.error
      ? Array.from({ length: item.length }, (_, at) => ({ ...item, offset: item.offset + at, length: 1 }))
      : item;

  const FILTERS = {
    "maximal-subparts": (items) => items,
    "start-of-a-sequence": (items) => items,
    "each-unit": (items) => items.flatMap(eachUnit),
    "whole-subsequence": (items) => merged(items, () => true),
    "malformed-sequence": (items, bytes, { patterns }) =>
      merged(items, (mark, { offset }) => {
        const blocks = patterns.find(([first]) => within(first, bytes[mark.offset]));
        return blocks && mark.length < blocks.length && within(blocks[mark.length], bytes[offset]);
      }),
    "first-error": (items) => {
      const first = items.findIndex(({ error }) => error);
      return first < 0 ? items : items.slice(0, first + 1);
    },
  };

  // The items of a text under an entry of `practices` in data.js, from its items under maximal subparts.
  utf8fpga.practised = (practice, items, bytes) => FILTERS[practice.name](items, bytes, practice);
})();
