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
//   FOREIGN                                            whether the core is foreign: it has the ports `rst` and `violation`,
//                                                      its `last` is not checked, and a run ends when its output is quiet
//   HANDSHAKE                                          with FOREIGN, whether a run waits for `in_ready` after a reset
//   RESETS                                             with FOREIGN, whether a text ends with a reset only
//
// The structures `settings`, `results`, `buffers` and `outcome` and `enum status` are generated, too: compiled.py
// describes them.

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

struct run {
    struct settings settings;
    struct state state;
    struct inputs in;
    struct outputs out;
    uint64_t cycle, idle, alone, valid_since, ended, input_pause, output_pause, null_beat;
    uint8_t upcoming, upcoming_null, upcoming_last, offered, inside, waiting, exhausted;
#if FOREIGN
    struct state before;                              // the state before the cycle
    uint64_t quiet_for, first, last;                  // cycles without output; that of the first and the last input
    uint8_t is_quiet, has_begun;
#endif
    uint8_t next[IN_BITS + 8];                        // the payload of the upcoming beat
    uint8_t held[OUT_BITS];                           // the payload of the output beat that waits
};

EXPORT uint64_t run_size(void) { return sizeof(struct run); }

#if FOREIGN
#define RESET_CYCLES 4
// Cycles without output after which a run ends, unless the state was constant before.
#define QUIET 96

// A reset, until the core accepts input.
static void assert_reset(struct run *run) {
    memset(&run->in, 0, sizeof run->in);
    run->in.out_ready[0] = run->in.rst[0] = 1;
    for (int n = 0; n < RESET_CYCLES; n++)
        step(&run->state, &run->in, &run->out);
    run->in.rst[0] = 0;
    for (uint64_t n = 0; n < run->settings.patience; n++) {
        step(&run->state, &run->in, &run->out);
        if (!HANDSHAKE || run->out.in_ready[0])
            break;
    }
    run->is_quiet = run->exhausted = 0;
}
#endif

EXPORT void run_reset(struct run *run, const struct settings *settings) {
    memset(run, 0, sizeof *run);
    run->settings = *settings;
    reset(&run->state);
#if FOREIGN
    assert_reset(run);
#endif
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
    if (count == results->outputs && !bits[OUT_LAST] && !FOREIGN)
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

#if FOREIGN
// After a cycle: the end of a run whose input was accepted, and what only foreign cores do.
static inline enum status end_of_cycle(struct run *run, struct results *results) {
    results->lane = run->out.violation[0];
    if (results->lane)
        return VIOLATION;
    if (run->alone == run->settings.patience && run->offered)
        return STUCK;
    if (run->upcoming || run->in.in_valid[0])
        return DONE;
    uint8_t valid = run->out.out_valid[0];
    run->quiet_for = valid ? 0 : run->quiet_for + 1;
    run->is_quiet = run->quiet_for > QUIET ||
        (run->in.out_ready[0] && !valid && !memcmp(&run->before, &run->state, sizeof run->state));
    return run->alone == run->settings.patience && !run->is_quiet ? ENDLESS : DONE;
}
#endif

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
#if FOREIGN
            // The payload is there before `valid` is asserted, which shows whether the core uses it too early.
            if (run->upcoming)
                memcpy(run->in.in_payload, run->next, IN_BITS);
            else
                run->in.in_payload[IN_LAST] = 0;
#endif
        }
#if FOREIGN
        if (run->is_quiet)
            return DONE;
        if (!run->upcoming)
            run->before = run->state;
#else
        if (!run->upcoming && !run->ended && !run->inside)
            return DONE;
#endif
        if (settings->gathers ? results->outputs + OUT_LANES > buffers->room || results->packets == buffers->room
                              : results->outputs == buffers->room || results->accepted == buffers->room)
            return OUTPUT_FULL;
        if (run->upcoming && !run->offered && !settings->input_pauses[run->input_pause]) {
#if !FOREIGN
            memcpy(run->in.in_payload, run->next, IN_BITS);
#endif
            run->offered = 1;
#if FOREIGN
            if (!run->has_begun)
                run->first = run->cycle;
            run->has_begun = 1;
#endif
        }
        uint8_t ready = !settings->output_pauses[run->output_pause];
        run->in.in_valid[0] = run->offered;
        run->in.out_ready[0] = ready;
        uint8_t counts = ready && (run->offered || !run->upcoming);
        run->idle += counts;
        run->alone += FOREIGN ? run->offered || !run->upcoming : counts;
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
                    pack((uint8_t *)(buffers->payloads + results->outputs * WORDS(OUT_BITS)), payload, OUT_BITS);
                    buffers->valid_since[results->outputs] = run->valid_since;
                    buffers->transferred[results->outputs++] = run->cycle;
                    status = is_null(run) && !FOREIGN ? NULL_BEAT : DONE;
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
#if FOREIGN
            run->quiet_for = 0;
            run->last = run->cycle;
#endif
            if (!run->upcoming_null) {
                run->ended += run->upcoming_last;
                run->inside = !run->upcoming_last;
            }
            run->upcoming = run->offered = 0;
            run->idle = run->alone = 0;
        }
#if FOREIGN
        status = end_of_cycle(run, results);
        if (status != DONE)
            break;
#else
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
#endif
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

#if FOREIGN
// Many short runs with gathering, each from the state after a reset. The counts and ends of each are its own; it has room
// for 6 symbols, and ends, per input symbol and for 64 more.
EXPORT void run_each(struct run *run, const struct buffers *all, const uint64_t *run_ends, uint64_t count,
                     struct results *results, struct outcome *outcomes) {
    struct buffers each = *all;
    const struct run after_reset = *run;
    memset(results, 0, sizeof *results);
    for (uint64_t number = 0; number < count; number++) {
        uint64_t position = results->inputs_used, ends_length = run_ends[number];
        enum status status = DONE;
        *run = after_reset;
        results->outputs = results->packets = results->lane = 0;
        each.room = 6 * (all->ends[ends_length - 1] - position) + 64;
        while (status == DONE && results->ends_used < ends_length) {
            if (RESETS && run->has_begun)
                assert_reset(run);
            each.ends_length = RESETS ? results->ends_used + 1 : ends_length;
            each.inputs_length = all->ends[each.ends_length - 1];
            status = (enum status)run_symbols(run, &each, results);
        }
        outcomes[number] = (struct outcome){
            results->outputs, results->packets, status, results->lane, run->has_begun ? run->last - run->first + 1 : 0,
        };
        results->ends_used = ends_length;
        results->inputs_used = all->ends[ends_length - 1];
        each.symbols += results->outputs;
        each.valid_since += results->packets;
    }
}
#endif
