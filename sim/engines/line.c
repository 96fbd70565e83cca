// SPDX-License-Identifier: BSD-2-Clause
// Drives the input `rx` of a circuit and records its output `tx`, one byte of 0 or 1 per cycle.
//
// circuit.h is generated, see driver.c. The circuit may have other outputs.

#include "circuit.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

EXPORT void run_line(const uint8_t *levels, uint8_t *found, uint64_t cycles) {
    struct state state;
    struct inputs in;
    struct outputs out;
    memset(&in, 0, sizeof in);
    reset(&state);
    for (uint64_t cycle = 0; cycle < cycles; cycle++) {
        in.rx[0] = levels[cycle];
        step(&state, &in, &out);
        found[cycle] = out.tx[0];
    }
}
