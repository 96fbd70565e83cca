// SPDX-License-Identifier: BSD-2-Clause
// Drives the input `rx` of a circuit and records its output `tx`, one byte of 0 or 1 per cycle.
//
// circuit.h is generated, see driver.c. With the constant LEDS the circuit has an output `leds` of so many bits. It may
// have other outputs.

#include "circuit.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

EXPORT uint64_t line_size(void) { return sizeof(struct state); }

EXPORT void line_reset(struct state *state) { reset(state); }

// Simulates so many cycles; `leds` receives a byte for each LED that was 1 in one of them.
EXPORT void line_run(struct state *state, const uint8_t *levels, uint8_t *found, uint64_t cycles, uint8_t *leds) {
    struct inputs in;
    struct outputs out;
    memset(&in, 0, sizeof in);
    for (uint64_t cycle = 0; cycle < cycles; cycle++) {
        in.rx[0] = levels[cycle];
        step(state, &in, &out);
        found[cycle] = out.tx[0];
#ifdef LEDS
        for (int led = 0; led < LEDS; led++)
            leds[led] |= out.leds[led];
#endif
    }
    (void)leds;
}
