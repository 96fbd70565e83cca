// SPDX-License-Identifier: BSD-2-Clause
// Drives the UART of the terminal, answers as its flash, and records the pixels of a frame.

#include "circuit.h"

#define EXPORT __attribute__((visibility("default")))

struct terminal {
    struct state circuit;
    uint64_t sent; // The bits that the flash has received since it was selected.
    unsigned bits, pixels;
    uint8_t clock, data;
};

EXPORT uint64_t terminal_size(void) { return sizeof(struct terminal); }

EXPORT void terminal_reset(struct terminal *t) {
    memset(t, 0, sizeof *t);
    reset(&t->circuit);
}

static unsigned number(const uint8_t *bits, int count) {
    unsigned value = 0;
    while (count--)
        value = value << 1 | bits[count];
    return value;
}

// Simulates a cycle for each level of the UART. `image` is the flash from BASE on; `frame` receives the visible pixels
// of a frame, 4 bits for each of red, green and blue, the first one in the low bits.
EXPORT void terminal_run(struct terminal *t, const uint8_t *levels, uint64_t cycles, const uint8_t *image,
                         uint16_t *frame) {
    struct inputs in;
    struct outputs out;
    memset(&in, 0, sizeof in);
    for (uint64_t cycle = 0; cycle < cycles; cycle++) {
        in.rx[0] = levels[cycle];
        in.cipo[0] = t->data;
        step(&t->circuit, &in, &out);
        if (!out.cs[0]) {
            t->bits = 0;
        } else if (out.sck[0] && !t->clock) {
            if (t->bits < 32)
                t->sent = t->sent << 1 | out.copi[0];
            if (++t->bits >= 32) {
                // The next bit, which the flash sends at the falling edge.
                uint64_t place = (t->sent & 0xffffff) - BASE + (t->bits - 32) / 8;
                uint8_t byte = (t->sent >> 24 & 0xff) == 3 && place < SIZE ? image[place] : 0xff;
                t->data = byte >> (7 - t->bits % 8) & 1;
            }
        }
        t->clock = out.sck[0];
        if (!out.vsync[0])
            t->pixels = 0;
        if (out.enable[0] && t->pixels < PIXELS)
            frame[t->pixels++] = (uint16_t)number(out.rgb, 12);
    }
}
