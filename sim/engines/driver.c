// SPDX-License-Identifier: BSD-2-Clause
// The drivers of both streams of a core and the check of the stream contract, for whole buffers of beats per call.
//
// circuit.h is generated. It defines `struct inputs`, `struct outputs`, `struct state`, `reset` and `step`, with one byte
// of 0 or 1 per bit, and these constants, where positions and widths are in bits:
//   IN_BITS, OUT_BITS                                  the widths of the payloads
//   IN_LANES, OUT_LANES                                symbols per beat
//   IN_SYMBOL_BITS, IN_SYMBOLS, IN_KEEP, IN_LAST       the width of a symbol, with run_symbols at most 32, and positions
//   OUT_SYMBOL_BITS, OUT_SYMBOLS, OUT_KEEP, OUT_LAST   the same at the output
//   OUT_ERROR                                          the position of the flag `error` in a symbol; -1 without
//   PACKED                                             whether the symbols of an output beat are contiguous
//   ABSENT                                             the value of input lanes without a symbol
//
// The structures `settings`, `results` and `buffers` are mirrored in compiled.py.

#include "circuit.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define WORDS(bits) (((bits) + 63) / 64)
#define BYTES(bits) (WORDS(bits) * 8)

// The largest symbol that `gather` can return.
#define GATHERED_BITS 64

enum status { DONE, NEEDS_INPUT, OUTPUT_FULL, DEASSERTED, CHANGED, NULL_BEAT, EARLY_LAST, STUCK, GAP, FLAG, ENDLESS };

struct settings {
    const uint8_t *input_pauses, *output_pauses, *null_beats;
    uint64_t input_pauses_length, output_pauses_length, null_beats_length;
    uint64_t patience;
    uint64_t gathers;          // whether the output is symbols and ends of packets, otherwise payloads and cycles
};

struct results {
    uint64_t inputs_used;      // beats or symbols
    uint64_t ends_used;
    uint64_t outputs;          // beats or symbols
    uint64_t accepted;         // beats, without gathering
    uint64_t packets;          // ends of packets, with gathering
    uint64_t cycle, lane;
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
    uint64_t *symbols;
    uint64_t *valid_since;     // with gathering: for each end of a packet the number of symbols before it
    uint64_t *transferred, *accepted;
    uint64_t room;             // elements for which there is room in each array above
};

struct run {
    struct settings settings;
    struct state state;
    struct inputs in;
    struct outputs out;
    uint64_t cycle, idle, alone, valid_since, ended, input_pause, output_pause, null_beat;
    uint8_t upcoming, upcoming_null, upcoming_last, offered, inside, waiting, exhausted;
    uint8_t next[IN_BITS + 8];                        // the payload of the upcoming beat
    uint8_t held[OUT_BITS];                           // the payload of the output beat that waits
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

static inline uint32_t symbol_at(const uint8_t *symbols, uint64_t position) {
#if IN_SYMBOL_BITS <= 8
    return symbols[position];
#elif IN_SYMBOL_BITS <= 16
    uint16_t two;
    memcpy(&two, symbols + 2 * position, 2);
    return two;
#else
    uint32_t four;
    memcpy(&four, symbols + 4 * position, 4);
    return four;
#endif
}

// Make the upcoming beat from the given payloads. Returns whether there is one.
static int next_payload(struct run *run, const struct buffers *buffers, struct results *results) {
    if (results->inputs_used == buffers->inputs_length)
        return 0;
    unpack(run->next, buffers->inputs + results->inputs_used++ * BYTES(IN_BITS), IN_BITS);
    run->upcoming_last = run->next[IN_LAST];
    run->upcoming_null = !run->upcoming_last;
    for (int lane = 0; lane < IN_LANES; lane++)
        run->upcoming_null &= !run->next[IN_KEEP + lane];
    return 1;
}

static void set_symbol(uint8_t *place, uint32_t symbol) {
#if IN_SYMBOL_BITS == 8
    spread(place, (uint8_t)symbol);
#else
    for (int bit = 0; bit < IN_SYMBOL_BITS && bit < 32; bit++)
        place[bit] = symbol >> bit & 1;
#endif
}

// Make the upcoming beat from the given symbols. Returns whether there is one.
static int next_symbols(struct run *run, const struct buffers *buffers, struct results *results) {
    const struct settings *settings = &run->settings;
    uint64_t position = results->inputs_used;
    int known = results->ends_used < buffers->ends_length;
    uint64_t end = known ? buffers->ends[results->ends_used] : buffers->inputs_length;
    uint64_t left = end - position, length = left < IN_LANES ? left : IN_LANES;
    uint8_t last = 0, present = 1;
    if (known) {
        last = left <= IN_LANES && (left < IN_LANES || !buffers->separate[results->ends_used]);
    } else if (left <= IN_LANES) {
        // Whether the packet ends after these symbols is not known yet, or there is no other packet.
        if (buffers->more)
            return 0;
        present = 0;
    }
    if (run->exhausted)
        return 0;
    uint8_t null = settings->null_beats[run->null_beat];
    if (++run->null_beat == settings->null_beats_length)
        run->null_beat = 0;
    if (null) {
        length = last = 0;
    } else if (!present) {
        run->exhausted = 1;
        return 0;
    }
    for (uint64_t lane = 0; lane < IN_LANES; lane++) {
        uint32_t symbol = lane < length ? symbol_at(buffers->inputs, position + lane) : (uint32_t)ABSENT;
        run->next[IN_KEEP + lane] = lane < length;
        set_symbol(run->next + IN_SYMBOLS + lane * IN_SYMBOL_BITS, symbol);
    }
    run->next[IN_LAST] = last;
    run->upcoming_last = last;
    run->upcoming_null = null;
    results->inputs_used += length;
    results->ends_used += last;
    return 1;
}

static int is_null(const struct run *run) {
    uint8_t content = run->out.out_payload[OUT_LAST];
    for (int lane = 0; lane < OUT_LANES; lane++)
        content |= run->out.out_payload[OUT_KEEP + lane];
    return !content;
}

#if OUT_SYMBOL_BITS <= GATHERED_BITS
static inline uint64_t symbol_of(const uint8_t *bits) {
    uint64_t symbol = 0;
    int n = 0;
#if EIGHT_AT_ONCE
    for (; n + 8 <= OUT_SYMBOL_BITS; n += 8) {
        uint64_t eight;
        memcpy(&eight, bits + n, 8);
        symbol |= (eight * 0x0102040810204080u >> 56) << n;
    }
#endif
    for (; n < OUT_SYMBOL_BITS; n++)
        symbol |= (uint64_t)bits[n] << n;
    return symbol;
}

// Append the symbols of an output beat. Returns DONE, or the violation of the contract.
static inline enum status gather(const struct run *run, const struct buffers *buffers, struct results *results) {
    const uint8_t *bits = run->out.out_payload;
    uint64_t count = results->outputs;
    for (int lane = 0; lane < OUT_LANES; lane++) {
        const uint8_t *symbol = bits + OUT_SYMBOLS + lane * OUT_SYMBOL_BITS;
        results->lane = (uint64_t)lane;
        if (!bits[OUT_KEEP + lane]) {
            if (OUT_ERROR >= 0 && symbol[OUT_ERROR < 0 ? 0 : OUT_ERROR])
                return FLAG;
            continue;
        }
        if (PACKED && count - results->outputs != (uint64_t)lane)
            return GAP;
        buffers->symbols[count++] = symbol_of(symbol);
    }
    if (count == results->outputs && !bits[OUT_LAST])
        return NULL_BEAT;
    results->outputs = count;
    if (bits[OUT_LAST])
        buffers->valid_since[results->packets++] = count;
    return DONE;
}
#else
static inline enum status gather(const struct run *run, const struct buffers *buffers, struct results *results) {
    (void)run, (void)buffers, (void)results;
    return DONE;
}
#endif

EXPORT int can_gather(void) { return OUT_SYMBOL_BITS <= GATHERED_BITS; }

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
        if (settings->gathers ? results->outputs + OUT_LANES > buffers->room || results->packets == buffers->room
                              : results->outputs == buffers->room || results->accepted == buffers->room)
            return OUTPUT_FULL;
        if (run->upcoming && !run->offered && !settings->input_pauses[run->input_pause]) {
            memcpy(run->in.in_payload, run->next, IN_BITS);
            run->offered = 1;
        }
        uint8_t ready = !settings->output_pauses[run->output_pause];
        run->in.in_valid[0] = run->offered;
        run->in.out_ready[0] = ready;
        uint8_t counts = ready && (run->offered || !run->upcoming);
        run->idle += counts;
        run->alone += counts;
        step(&run->state, &run->in, &run->out);
        if (run->out.out_valid[0]) {
            const uint8_t *payload = run->out.out_payload;
            if (!run->waiting) {
                run->valid_since = run->cycle;
            } else if (memcmp(run->held, payload, OUT_BITS)) {
                pack(results->held, run->held, OUT_BITS);
                pack(results->payload, payload, OUT_BITS);
                status = CHANGED;
                break;
            }
            if (ready) {
                if (settings->gathers) {
                    status = gather(run, buffers, results);
                } else {
                    pack(buffers->payloads + results->outputs * BYTES(OUT_BITS), payload, OUT_BITS);
                    buffers->valid_since[results->outputs] = run->valid_since;
                    buffers->transferred[results->outputs++] = run->cycle;
                    status = is_null(run) ? NULL_BEAT : DONE;
                }
                if (status != DONE)
                    break;
                run->ended -= payload[OUT_LAST];
                run->waiting = 0;
                run->idle = 0;
            } else if (!run->waiting) {
                memcpy(run->held, payload, OUT_BITS);
                run->waiting = 1;
            }
        } else if (run->waiting) {
            pack(results->held, run->held, OUT_BITS);
            status = DEASSERTED;
            break;
        }
        if (run->offered && run->out.in_ready[0]) {
            if (!settings->gathers)
                buffers->accepted[results->accepted++] = run->cycle;
            if (!run->upcoming_null) {
                run->ended += run->upcoming_last;
                run->inside = !run->upcoming_last;
            }
            run->upcoming = run->offered = 0;
            run->idle = run->alone = 0;
        }
        if ((int64_t)run->ended < 0) {
            status = EARLY_LAST;
            break;
        }
        if (run->idle > settings->patience) {
            status = STUCK;
            break;
        }
        if (run->alone > 2 * settings->patience) {
            status = ENDLESS;
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
