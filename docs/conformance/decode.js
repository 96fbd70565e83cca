// SPDX-License-Identifier: BSD-2-Clause
// Node.js: TextDecoder, Buffer, or isUtf8 of simdutf; in a browser `decoded` alone.
const decoded = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
const shown = (text) => [...text].map((character) => character.codePointAt(0).toString(16)).join(" ");
if (typeof process !== "undefined") {
  const [kind, name] = process.argv.slice(2);
  console.log(process.versions[name]);
  for (const line of require("fs").readFileSync(0, "latin1").split("\n").slice(0, -1)) {
    const bytes = Buffer.from(line, "hex");
    if (kind === "isUtf8") console.log(require("buffer").isUtf8(bytes) ? "" : "rejected");
    else console.log(shown(kind === "buffer" ? bytes.toString("utf8") : decoded(bytes)));
  }
}
