// SPDX-License-Identifier: BSD-2-Clause
// The order of the search's results: commands, headings and pages, classes and functions of that name, then their
// members, of which a dozen may have the same name.
"use strict";

var Scorer = {
  score: ([page, , , description, score, , kind]) => {
    // The search matches a word of the title "utf8fpga simulate" as text.
    if (page.startsWith("commands/") && kind === "text" && score >= Scorer.title) return score + 80;
    if (kind === "title") return score + 40;
    if (kind === "text") return score + 10;
    if (kind === "index") return 1;
    return /(attribute|property|method|option)/.test(description) ? score / 10 : score;
  },
  objNameMatch: 30,
  objPartialMatch: 6,
  objPrio: {},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
