// SPDX-License-Identifier: BSD-2-Clause
// A netlist, simulated cycle by cycle: an and-inverter graph as AIGER has it (utf8fpga.sim.aiger.Aig). Literal 2n is
// variable n, 2n + 1 its inverse, 0 is false; inputs, then latches, then gates are numbered from 1.
"use strict";

globalThis.utf8fpga ??= {};

(() => {
  const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

  function* bytesOf(base64) {
    let bits = 0;
    let count = 0;
    for (const digit of base64.replace(/=+$/, "")) {
      bits = ((bits << 6) | BASE64.indexOf(digit)) & 0xfff;
      count += 6;
      if (count >= 8) {
        count -= 8;
        yield (bits >> count) & 255;
      }
    }
  }

  // Numbers in the variable-length encoding of AIGER.
  function* numbersOf(base64) {
    let value = 0;
    let shift = 0;
    for (const byte of bytesOf(base64)) {
      value |= (byte & 127) << shift;
      shift += 7;
      if (byte < 128) {
        yield value;
        value = shift = 0;
      }
    }
  }

  class Circuit {
    // `netlist`: an entry of `circuits` in data.js.
    constructor(netlist) {
      Object.assign(this, netlist);
      this.first = 1 + netlist.inputs;
      const gatesFrom = this.first + netlist.latches.length;
      const deltas = numbersOf(netlist.gates);
      this.left = new Int32Array(netlist.gate_count);
      this.right = new Int32Array(netlist.gate_count);
      for (let gate = 0; gate < netlist.gate_count; gate += 1) {
        this.left[gate] = 2 * (gatesFrom + gate) - deltas.next().value;
        this.right[gate] = this.left[gate] - deltas.next().value;
      }
      this.values = new Uint8Array(gatesFrom + netlist.gate_count);
      this.gatesFrom = gatesFrom;
    }

    // All latches have their initial values.
    start() {
      this.values.fill(0);
    }

    bit(literal) {
      return this.values[literal >> 1] ^ (literal & 1);
    }

    set(port, value) {
      (this.input_bits[port] ?? []).forEach((input, at) => {
        this.values[1 + input] = Number((value >> BigInt(at)) & 1n);
      });
    }

    get(port) {
      return this.output_bits[port].reduce((sum, output, at) => {
        return sum | (BigInt(this.bit(this.outputs[output])) << BigInt(at));
      }, 0n);
    }

    // The values of all gates for the present inputs and latches.
    settle() {
      const { values, left, right, gatesFrom } = this;
      for (let gate = 0; gate < left.length; gate += 1) {
        const one = values[left[gate] >> 1] ^ (left[gate] & 1);
        values[gatesFrom + gate] = one & (values[right[gate] >> 1] ^ (right[gate] & 1));
      }
    }

    // The rising edge of the clock.
    clock() {
      const following = this.latches.map((literal) => this.bit(literal));
      this.values.set(following, this.first);
    }
  }

  utf8fpga.Circuit = Circuit;
})();
