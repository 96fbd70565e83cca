// SPDX-License-Identifier: BSD-2-Clause
// Drives the UART of the terminal in Verilator, answers as its flash, and records the pixels of a frame.

#include "Vterminal.h"
#include <cstring>

static const uint64_t BASE = 0x400000;
static const unsigned PIXELS = 640 * 480;

static Vterminal *terminal;
static uint64_t sent; // the bits that the flash has received since it was selected
static unsigned bits, pixels;
static uint8_t sck, cipo;

extern "C" void start() {
    terminal = new Vterminal;
    sent = bits = pixels = sck = cipo = 0;
}

// Simulates a cycle for each level of the UART. `image` is the flash from BASE on, of `size` bytes; `frame` receives the
// visible pixels of a frame, 4 bits for each of red, green and blue, the first one in the low bits.
extern "C" void run(const uint8_t *levels, uint64_t cycles, const uint8_t *image, uint64_t size, uint16_t *frame) {
    for (uint64_t cycle = 0; cycle < cycles; cycle++) {
        terminal->rx = levels[cycle];
        terminal->flash_cipo = cipo;
        terminal->clk = 0;
        terminal->eval();
        if (!terminal->flash_cs) {
            bits = 0;
        } else if (terminal->flash_sck && !sck) {
            if (bits < 32)
                sent = sent << 1 | terminal->flash_copi;
            if (++bits >= 32) {
                // The next bit, which the flash sends at the falling edge.
                uint64_t place = (sent & 0xffffff) - BASE + (bits - 32) / 8;
                uint8_t byte = (sent >> 24 & 0xff) == 3 && place < size ? image[place] : 0xff;
                cipo = byte >> (7 - bits % 8) & 1;
            }
        }
        sck = terminal->flash_sck;
        // The layout of a pixel, from bit 0: 4 bits for each colour, then hsync, vsync and enable.
        if (!(terminal->pixel >> 13 & 1))
            pixels = 0;
        if (terminal->pixel >> 14 & 1 && pixels < PIXELS)
            frame[pixels++] = terminal->pixel & 0xfff;
        terminal->clk = 1;
        terminal->eval();
    }
}
