// SPDX-License-Identifier: BSD-2-Clause
// The drivers of both streams of a core and the check of the stream contract, for whole buffers of beats per call.
//
// circuit.h is generated. It defines IN_BITS, OUT_BITS, `struct inputs`, `struct outputs`, `struct state`, `reset` and
// `step`, with one byte of 0 or 1 per bit. The structures `settings`, `results` and `buffers` are mirrored in compiled.py.

#include "circuit.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define WORDS(bits) (((bits) + 63) / 64)
#define BYTES(bits) (WORDS(bits) * 8)

enum status { DONE, NEEDS_INPUT, OUTPUT_FULL, DEASSERTED, CHANGED, NULL_BEAT, EARLY_LAST, STUCK };

struct settings {
    const uint8_t *input_pauses, *output_pauses;
    uint64_t input_pauses_length, output_pauses_length;
    uint64_t patience;
    uint64_t in_last, out_last;                       // positions of `last`
    uint64_t in_content_first, in_content_length;     // the bits of which one is set unless the beat is null
    const uint8_t *out_content;                       // the same at the output, as a mask of one byte per bit
    uint64_t symbols_first, symbol_bits, lanes, keep_first;
    uint64_t absent;                                  // the value of lanes without a symbol
};

struct results {
    uint64_t inputs_used;      // beats or symbols
    uint64_t ends_used;
    uint64_t outputs, accepted;
    uint64_t cycle;
    uint8_t held[BYTES(OUT_BITS) + 8], payload[BYTES(OUT_BITS) + 8];
};

struct buffers {
    const uint8_t *inputs;     // payloads of BYTES(IN_BITS) each, or symbols of 1, 2 or 4 bytes
    uint64_t inputs_length;
    const uint64_t *ends;      // with symbols: the position in `inputs` after each packet
    const uint8_t *separate;   // with symbols: for each packet, whether `last` is in a beat of its own
    uint64_t ends_length;
    uint64_t more;             // whether another call continues the input
    uint8_t *payloads;
    uint64_t *shown, *transferred, *accepted;
    uint64_t room;             // beats for which there is room in the arrays above
};

struct run {
    struct settings settings;
    struct state state;
    struct inputs in;
    struct outputs out;
    uint64_t cycle, idle, shown, ended, input_pause, output_pause;
    uint8_t upcoming, upcoming_null, upcoming_last, offered, inside, waiting;
    uint8_t next[IN_BITS + 8];                        // the payload of the upcoming beat
    uint8_t held[BYTES(OUT_BITS)];
};

EXPORT uint64_t run_size(void) { return sizeof(struct run); }

EXPORT void run_reset(struct run *run, const struct settings *settings) {
    memset(run, 0, sizeof *run);
    run->settings = *settings;
    reset(&run->state);
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EIGHT_AT_ONCE 1
#else
#define EIGHT_AT_ONCE 0
#endif

static inline void spread(uint8_t *bits, uint8_t byte) {
#if EIGHT_AT_ONCE
    // Byte k of the product keeps bit k only; the addition carries it to the top bit of its byte.
    uint64_t eight = byte * 0x0101010101010101u & 0x8040201008040201u;
    eight = (eight + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
    memcpy(bits, &eight, 8);
#else
    for (int n = 0; n < 8; n++)
        bits[n] = byte >> n & 1;
#endif
}

static void unpack(uint8_t *bits, const uint8_t *bytes, uint64_t length) {
    for (uint64_t n = 0; n < length; n += 8)
        spread(bits + n, bytes[n >> 3]);
}

static void pack(uint8_t *bytes, const uint8_t *bits, unsigned length) {
    unsigned n = 0;
    memset(bytes, 0, BYTES(OUT_BITS));
#if EIGHT_AT_ONCE
    for (; n + 8 <= length; n += 8) {
        uint64_t eight;
        memcpy(&eight, bits + n, 8);
        // Byte k of `eight` arrives at bit 56 + k; no two terms of the product meet.
        bytes[n >> 3] = (uint8_t)(eight * 0x0102040810204080u >> 56);
    }
#endif
    for (; n < length; n++)
        bytes[n >> 3] |= (uint8_t)(bits[n] << (n & 7));
}

static uint32_t symbol_at(const uint8_t *symbols, uint64_t position, uint64_t bits) {
    uint16_t two;
    uint32_t four;
    if (bits <= 8)
        return symbols[position];
    if (bits <= 16) {
        memcpy(&two, symbols + 2 * position, 2);
        return two;
    }
    memcpy(&four, symbols + 4 * position, 4);
    return four;
}

// Make the upcoming beat from the given payloads. Returns whether there is one.
static int next_payload(struct run *run, const struct buffers *buffers, struct results *results) {
    const struct settings *settings = &run->settings;
    if (results->inputs_used == buffers->inputs_length)
        return 0;
    unpack(run->next, buffers->inputs + results->inputs_used++ * BYTES(IN_BITS), IN_BITS);
    run->upcoming_last = run->next[settings->in_last];
    run->upcoming_null = !run->upcoming_last;
    for (uint64_t n = 0; n < settings->in_content_length; n++)
        run->upcoming_null &= !run->next[settings->in_content_first + n];
    return 1;
}

// Make the upcoming beat from the given symbols. Returns whether there is one.
static int next_symbols(struct run *run, const struct buffers *buffers, struct results *results) {
    const struct settings *settings = &run->settings;
    uint64_t lanes = settings->lanes, bits = settings->symbol_bits, position = results->inputs_used;
    int known = results->ends_used < buffers->ends_length;
    uint64_t end = known ? buffers->ends[results->ends_used] : buffers->inputs_length;
    uint64_t left = end - position, length = left < lanes ? left : lanes;
    uint8_t last = 0;
    if (known) {
        last = left <= lanes && (left < lanes || !buffers->separate[results->ends_used]);
    } else if (left <= lanes) {
        // Whether the packet ends after these symbols is not known yet.
        return 0;
    }
    uint8_t *place = run->next + settings->symbols_first;
    for (uint64_t lane = 0; lane < lanes; lane++) {
        uint32_t symbol = lane < length ? symbol_at(buffers->inputs, position + lane, bits) : (uint32_t)settings->absent;
        run->next[settings->keep_first + lane] = lane < length;
        if (bits == 8) {
            spread(place, (uint8_t)symbol);
            place += 8;
            continue;
        }
        for (uint64_t bit = 0; bit < bits; bit++)
            *place++ = symbol >> bit & 1;
    }
    run->next[settings->in_last] = last;
    run->upcoming_last = last;
    run->upcoming_null = 0;
    results->inputs_used += length;
    results->ends_used += last;
    return 1;
}

static int is_null(const struct run *run) {
    const uint8_t *mask = run->settings.out_content;
    uint8_t content = 0;
    for (unsigned n = 0; n < OUT_BITS; n++)
        content |= run->out.out_payload[n] & mask[n];
    return !content;
}

static inline enum status advance(
    struct run *run, const struct buffers *buffers, struct results *results,
    int (*next)(struct run *, const struct buffers *, struct results *)
) {
    const struct settings *settings = &run->settings;
    enum status status = DONE;
    for (;;) {
        if (!run->upcoming) {
            run->upcoming = (uint8_t)next(run, buffers, results);
            if (!run->upcoming && buffers->more)
                return NEEDS_INPUT;
        }
        if (!run->upcoming && !run->ended && !run->inside)
            return DONE;
        if (results->outputs == buffers->room || results->accepted == buffers->room)
            return OUTPUT_FULL;
        if (run->upcoming && !run->offered && !settings->input_pauses[run->input_pause]) {
            memcpy(run->in.in_payload, run->next, IN_BITS);
            run->offered = 1;
        }
        uint8_t ready = !settings->output_pauses[run->output_pause];
        run->in.in_valid[0] = run->offered;
        run->in.out_ready[0] = ready;
        run->idle += ready && (run->offered || !run->upcoming);
        step(&run->state, &run->in, &run->out);
        if (run->out.out_valid[0]) {
            uint8_t *payload = buffers->payloads + results->outputs * BYTES(OUT_BITS);
            pack(payload, run->out.out_payload, OUT_BITS);
            if (!run->waiting) {
                run->shown = run->cycle;
            } else if (memcmp(run->held, payload, BYTES(OUT_BITS))) {
                memcpy(results->held, run->held, BYTES(OUT_BITS));
                memcpy(results->payload, payload, BYTES(OUT_BITS));
                status = CHANGED;
                break;
            }
            if (ready) {
                buffers->shown[results->outputs] = run->shown;
                buffers->transferred[results->outputs++] = run->cycle;
                if (is_null(run)) {
                    status = NULL_BEAT;
                    break;
                }
                run->ended -= run->out.out_payload[settings->out_last];
                run->waiting = 0;
                run->idle = 0;
            } else if (!run->waiting) {
                memcpy(run->held, payload, BYTES(OUT_BITS));
                run->waiting = 1;
            }
        } else if (run->waiting) {
            memcpy(results->held, run->held, BYTES(OUT_BITS));
            status = DEASSERTED;
            break;
        }
        if (run->offered && run->out.in_ready[0]) {
            if (!run->upcoming_null) {
                buffers->accepted[results->accepted++] = run->cycle;
                run->ended += run->upcoming_last;
                run->inside = !run->upcoming_last;
            }
            run->upcoming = run->offered = 0;
            run->idle = 0;
        }
        if ((int64_t)run->ended < 0) {
            status = EARLY_LAST;
            break;
        }
        if (run->idle > settings->patience) {
            status = STUCK;
            break;
        }
        run->cycle++;
        if (++run->input_pause == settings->input_pauses_length)
            run->input_pause = 0;
        if (++run->output_pause == settings->output_pauses_length)
            run->output_pause = 0;
    }
    return status;
}

EXPORT int run_payloads(struct run *run, const struct buffers *buffers, struct results *results) {
    int status = (int)advance(run, buffers, results, next_payload);
    results->cycle = run->cycle;
    return status;
}

EXPORT int run_symbols(struct run *run, const struct buffers *buffers, struct results *results) {
    int status = (int)advance(run, buffers, results, next_symbols);
    results->cycle = run->cycle;
    return status;
}
