// SPDX-License-Identifier: BSD-2-Clause
// The driver of a foreign core: many short runs, each from the state after a reset, with all that the core outputs.
//
// circuit.h is generated. It defines `struct inputs`, `struct outputs`, `struct state`, `reset` and `step`, with one byte
// of 0 or 1 per bit, and these constants:
//   LANES                     bytes per input beat
//   WORDS, WORD_BITS          words per output beat, and the bits of one, at most 32
//   WORD_KEEP                 bits of `out_keep` for one word
//   RESET_LEVEL               the level of `rst` in a reset
//   HANDSHAKE                 whether a byte is transferred if `in_ready` is asserted; otherwise if `in_valid` is
//   OUT_READY                 whether the core waits for `out_ready`; otherwise it is asserted
//   END                       the end of a text: 0 none, 1 `in_last` with the last byte, 2 `in_last` in a cycle after it
//   OUT_LAST                  whether `out_last` is the end of a text
//   LEVEL                     whether `out_error` is the only output, and one assertion in a text counts
//   SEPARATE                  whether `out_error` is an ill-formed item of its own, with or without `out_valid`, before the
//                             word; otherwise the word beside it stands for the item
//   MARK, ANY_WORD            the word of an ill-formed item, and whether any other word beside `out_error` counts as it
//   RESENDS                   0; 1: a byte is sent again if `resend` is asserted; 2: if `out_error` is, and it is not the
//                             first one since the last output
//   LATENCY                   with RESENDS, cycles from a byte to the answer
//   MOST_RESENT               with RESENDS, requests for one byte from which on there is an error
//   INTERVAL                  cycles from a byte to the next, at least
//   PATIENCE                  cycles after which a byte that is not accepted, or an output without end, is an error

#include "circuit.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define RESET_CYCLES 4
// Cycles without a transfer after which a run whose input was accepted ends, unless the state was constant before.
#define QUIET 96

enum status { DONE, STUCK, CHANGED, FLOOD, RESENT, PARTIAL };

// Flags of an output word; the word itself is in the low 32 bits.
#define FLAG_ERROR (1ull << 32)
#define FLAG_LAST (1ull << 33)
#define FLAG_NO_WORD (1ull << 34)

struct settings {
    const uint8_t *input_pauses, *output_pauses;   // for each cycle, repeated
    uint64_t input_pauses_length, output_pauses_length;
};

struct runs {
    const uint8_t *bytes;          // the texts of all runs, one after another
    const uint64_t *text_ends;     // for each text the position in `bytes` after it
    const uint64_t *run_ends;      // for each run the number of texts up to its end
    uint64_t count;                // of runs
    uint64_t *words;               // output; there must be room for 6 per byte and 64 per run
    uint64_t *word_ends;           // for each run the number of words up to its end
    uint8_t *statuses;             // of each run
    uint64_t *cycles;              // of each run the cycles from the first accepted byte to the last one, both included
};

struct probe {
    struct settings settings;
    struct state start, state, before;
    struct inputs in;
    struct outputs out, held;
    uint64_t *words, count, limit, fresh;
    uint64_t cycle, input_pause, output_pause;
    uint64_t since;                // cycles since the last transfer
    uint64_t open;                 // bytes accepted since the last output
    uint8_t drains, constant, waiting, inside;
    enum status status;
};

EXPORT uint64_t probe_size(void) { return sizeof(struct probe); }

static void push(struct probe *probe, uint64_t word) {
    if (probe->count == probe->limit) {
        probe->status = FLOOD;
        return;
    }
    probe->words[probe->count++] = word;
}

static void take_output(struct probe *probe) {
    const struct outputs *out = &probe->out;
    if (SEPARATE && !out->out_valid[0]) {
        push(probe, FLAG_ERROR | MARK);
    } else {
        for (unsigned word = 0; word < WORDS; word++) {
            unsigned kept = 0;
            for (unsigned bit = 0; bit < WORD_KEEP; bit++)
                kept += out->out_keep[word * WORD_KEEP + bit];
            if (!kept)
                continue;
            if (kept != WORD_KEEP)
                probe->status = PARTIAL;
            uint64_t value = 0;
            for (unsigned bit = 0; bit < WORD_BITS; bit++)
                value |= (uint64_t)out->out_data[word * WORD_BITS + bit] << bit;
            unsigned error = out->out_error[word];
            if (error && SEPARATE) {
                push(probe, FLAG_ERROR | MARK);
                error = 0;
            }
            push(probe, error ? FLAG_ERROR | (ANY_WORD ? MARK : value) : value);
        }
    }
    if (OUT_LAST && out->out_last[0]) {
        // The end may be in a beat after that of the last word.
        if (probe->count > probe->fresh)
            probe->words[probe->count - 1] |= FLAG_LAST;
        else
            push(probe, FLAG_NO_WORD | FLAG_LAST);
        probe->fresh = probe->count;
    }
}

// One cycle. Returns whether there was an output.
static int clock(struct probe *probe, int taken) {
    uint8_t ready = !OUT_READY || !probe->settings.output_pauses[probe->output_pause];
    probe->in.out_ready[0] = ready;
    if (probe->drains)
        probe->before = probe->state;
    step(&probe->state, &probe->in, &probe->out);
    int valid = probe->out.out_valid[0];
    if (LEVEL) {
        if (taken && probe->out.out_error[0] && probe->count == probe->fresh)
            push(probe, FLAG_ERROR);
        valid = 0;
    }
    if (SEPARATE)
        for (unsigned word = 0; word < WORDS; word++)
            valid |= probe->out.out_error[word];
    if (probe->waiting) {
        if (memcmp(&probe->held.out_data, &probe->out.out_data, sizeof probe->out.out_data) ||
            memcmp(&probe->held.out_keep, &probe->out.out_keep, sizeof probe->out.out_keep) ||
            memcmp(&probe->held.out_error, &probe->out.out_error, sizeof probe->out.out_error) ||
            probe->held.out_last[0] != probe->out.out_last[0] || !valid)
            probe->status = CHANGED;
    }
    probe->waiting = 0;
    if (valid && ready) {
        if (taken)
            take_output(probe);
    } else if (valid) {
        probe->held = probe->out;
        probe->waiting = 1;
    }
    probe->constant = probe->drains && ready && !valid && !memcmp(&probe->before, &probe->state, sizeof probe->state);
    probe->since = valid ? 0 : probe->since + 1;
    probe->cycle++;
    if (++probe->input_pause == probe->settings.input_pauses_length)
        probe->input_pause = 0;
    if (++probe->output_pause == probe->settings.output_pauses_length)
        probe->output_pause = 0;
    return valid;
}

// A reset, until the core accepts input.
static void start(struct probe *probe) {
    memset(&probe->in, 0, sizeof probe->in);
    probe->in.rst[0] = RESET_LEVEL;
    for (int n = 0; n < RESET_CYCLES; n++)
        clock(probe, 0);
    probe->in.rst[0] = !RESET_LEVEL;
    probe->waiting = 0;
    for (int n = 0; n < PATIENCE; n++) {
        clock(probe, 0);
        if (!HANDSHAKE || probe->out.in_ready[0])
            break;
    }
    probe->waiting = 0;
}

static const uint8_t never[] = {0};

// Prepare the state from which all runs start.
EXPORT void probe_start(struct probe *probe) {
    memset(probe, 0, sizeof *probe);
    probe->settings = (struct settings){never, never, 1, 1};
    reset(&probe->state);
    start(probe);
    probe->start = probe->state;
}

// Cycles without input until nothing can be output any more.
static void drain(struct probe *probe) {
    probe->in.in_valid[0] = probe->in.in_last[0] = 0;
    probe->since = 0;
    probe->drains = 1;
    for (uint64_t n = 0; probe->status == DONE && n < PATIENCE; n++) {
        clock(probe, 1);
        if (probe->constant || probe->since > QUIET)
            break;
    }
    probe->drains = 0;
    if (probe->status == DONE && !probe->constant && probe->since <= QUIET)
        probe->status = FLOOD;
}

// Offer what is in `in` until it is accepted.
static void transfer(struct probe *probe) {
    while (probe->settings.input_pauses[probe->input_pause]) {
        clock(probe, 1);
        if (probe->status != DONE)
            return;
    }
    probe->in.in_valid[0] = 1;
    for (int n = 0;; n++) {
        if (n == PATIENCE) {
            probe->status = STUCK;
            break;
        }
        int valid = clock(probe, 1);
        if (RESENDS && LATENCY == 0)
            probe->inside = (uint8_t)valid;
        if (!HANDSHAKE || probe->out.in_ready[0] || probe->status != DONE)
            break;
    }
    probe->in.in_valid[0] = 0;
}

static int requested(const struct probe *probe) {
    return RESENDS == 1 ? probe->out.resend[0] : RESENDS == 2 && probe->out.out_error[0] && (SEPARATE || probe->out.out_valid[0]) && probe->open;
}

static void send_beat(struct probe *probe, const uint8_t *bytes, unsigned length, int last) {
    for (unsigned lane = 0; lane < LANES; lane++) {
        probe->in.in_keep[lane] = lane < length;
        for (int bit = 0; bit < 8; bit++)
            probe->in.in_data[8 * lane + bit] = lane < length ? bytes[lane] >> bit & 1 : 0;
    }
    for (int again = 0;; again++) {
        probe->in.in_last[0] = END == 1 && last;
        transfer(probe);
        probe->in.in_last[0] = 0;
        if (!RESENDS || probe->status != DONE)
            break;
        int valid = probe->inside;
        for (int n = 0; n < LATENCY; n++)
            valid = clock(probe, 1);
        if (!requested(probe)) {
            probe->open = valid ? 0 : probe->open + 1;
            break;
        }
        probe->open = 0;
        if (again + 1 == MOST_RESENT) {
            probe->status = RESENT;
            break;
        }
    }
    for (int n = 1; n < INTERVAL && probe->status == DONE; n++)
        clock(probe, 1);
}

static void send_text(struct probe *probe, const uint8_t *bytes, uint64_t length, uint64_t *first, uint64_t *last) {
    probe->open = 0;
    uint64_t at = 0;
    while (probe->status == DONE && (at < length || (at == 0 && END == 1))) {
        unsigned now = length - at < LANES ? (unsigned)(length - at) : LANES;
        uint64_t before = probe->cycle;
        send_beat(probe, bytes + at, now, at + now == length);
        if (!*first)
            *first = before + 1;
        *last = probe->cycle;
        at += now;
        if (!length)
            break;
    }
    if (END == 2 && probe->status == DONE) {
        probe->in.in_last[0] = 1;
        clock(probe, 1);
        probe->in.in_last[0] = 0;
    }
}

// The runs, each from the state after a reset.
EXPORT void probe_runs(struct probe *probe, const struct settings *settings, struct runs *runs) {
    probe->settings = *settings;
    probe->words = runs->words;
    probe->count = 0;
    uint64_t text = 0, position = 0;
    for (uint64_t run = 0; run < runs->count; run++) {
        uint64_t size = runs->run_ends[run] ? runs->text_ends[runs->run_ends[run] - 1] - position : 0;
        probe->limit = probe->count + 6 * size + 64;
        probe->state = probe->start;
        memset(&probe->in, 0, sizeof probe->in);
        probe->in.rst[0] = !RESET_LEVEL;
        probe->drains = 0;
        probe->cycle = probe->input_pause = probe->output_pause = probe->since = 0;
        probe->waiting = 0;
        probe->status = DONE;
        probe->fresh = probe->count;
        uint64_t first = 0, last = 0;
        for (int follows = 0; text < runs->run_ends[run]; text++, follows = 1) {
            if (follows && !END && probe->status == DONE) {
                drain(probe);
                start(probe);
            }
            uint64_t end = runs->text_ends[text];
            if (probe->status == DONE)
                send_text(probe, runs->bytes + position, end - position, &first, &last);
            position = end;
        }
        if (probe->status == DONE)
            drain(probe);
        runs->word_ends[run] = probe->count;
        runs->statuses[run] = (uint8_t)probe->status;
        runs->cycles[run] = last - first + (first > 0);
    }
}
