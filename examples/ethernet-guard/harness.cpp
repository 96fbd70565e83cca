// SPDX-License-Identifier: BSD-2-Clause
// The clocks and the GMII pins of the SoC in Verilator: frames in and out, with preamble and check sequence.

#include "Vguard_soc.h"
#include <cstring>
#include <vector>

static Vguard_soc *soc;
static std::vector<uint8_t> sent;
static uint64_t frequency, phase;
static uint8_t *out;
static uint32_t *out_lengths, out_count;
static uint64_t out_used;

// A byte time of Gigabit Ethernet, 8 ns. Halves of the system clock's period end where they fall.
static void byte_time(int valid, uint8_t data) {
    soc->eth_rx_dv = valid;
    soc->eth_rx_data = data;
    for (int level = 1; level >= 0; level--) {
        soc->eth_clocks_rx = soc->eth_clocks_tx = level;
        soc->eval();
        phase += frequency;
        if (phase >= 125000000) {
            phase -= 125000000;
            soc->clk = !soc->clk;
            soc->eval();
        }
    }
    if (soc->eth_tx_en) {
        sent.push_back(soc->eth_tx_data);
    } else if (!sent.empty()) {
        memcpy(out + out_used, sent.data(), sent.size());
        out_used += out_lengths[out_count++] = sent.size();
        sent.clear();
    }
}

extern "C" void start(uint64_t system_frequency) {
    soc = new Vguard_soc; // the state of Verilator is destroyed before static objects
    frequency = system_frequency;
    sent.clear();
    soc->rst = 1;
    for (int n = 0; n < 100; n++)
        byte_time(0, 0);
    soc->rst = 0;
}

// Sends frames with a gap of byte times after each, then waits. The frames that were sent by the SoC are written one
// after the other, with their lengths; returns their number.
extern "C" uint32_t run(const uint8_t *in, const uint32_t *lengths, uint32_t count, uint32_t gap, uint32_t wait,
                        uint8_t *frames, uint32_t *frame_lengths) {
    out = frames, out_lengths = frame_lengths, out_count = 0, out_used = 0;
    for (uint32_t n = 0; n < count; n++) {
        for (uint32_t at = 0; at < lengths[n]; at++)
            byte_time(1, *in++);
        for (uint32_t at = 0; at < gap; at++)
            byte_time(0, 0);
    }
    for (uint32_t at = 0; at < wait; at++)
        byte_time(0, 0);
    return out_count;
}
