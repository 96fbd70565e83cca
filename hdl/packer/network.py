# SPDX-License-Identifier: BSD-2-Clause
"""prototype"""
from __future__ import annotations
from collections.abc import Sequence
from dataclasses import dataclass
from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.fan_out import LateReset
from utf8fpga.hdl.memory_buffer import Front, Level
from utf8fpga.hdl.packer.pipeline import Pipeline, Timed, ZERO, latest

_GROUP = 4


def popcount(bits):
    return sum((Value.cast(bit) for bit in bits), Const(0, 1))


class NewPacker(wiring.Component):
    def __init__(self, symbol, lanes):
        self.lanes = lanes
        layout = beat_layout(symbol, lanes)
        super().__init__({"sparse": In(stream.Signature(layout)), "packed": Out(stream.Signature(layout))})
        self.steps = (lanes - 1).bit_length()
        self.width = 1 << self.steps
        self.fold = lanes != self.width
        self.ready = Signal(name="ready")

    # ---- numbers
    def prefix4(self, p, name, numbers):
        """exclusive prefix sums mod 4 of numbers; and the total mod 4"""
        if len(numbers) == 1:
            return [[]], numbers[0][:2]
        inner, sums = [], []
        for g in range(0, len(numbers), 4):
            part = numbers[g:g + 4]
            for i in range(len(part)):
                inner.append(self.sum4(p, f"{name}_pre_{g + i}", part[:i]))
            sums.append(self.sum4(p, f"{name}_sum_{g}", part))
        if len(sums) == 1:
            return inner, sums[0]
        outer, total = self.prefix4(p, f"{name}x", sums)
        return [self.sum4(p, f"{name}_all_{i}", [n for n in (inner[i], outer[i // 4]) if n]) for i in range(len(numbers))], total

    def sum4(self, p, name, numbers):
        numbers = [n[:2] for n in numbers]
        if not numbers:
            return []
        if len(numbers) == 1:
            return numbers[0]
        cycle = latest([b for n in numbers for b in n])
        total = sum(Cat(p.at(b, cycle) for b in n) for n in numbers)
        return [p.register(f"{name}_{i}", total[i], cycle) for i in range(2)]

    def elaborate(self, platform):
        m = Module()
        N, n, P = self.lanes, self.steps, self.width
        p = Pipeline(m)
        sparse = self.sparse.payload
        names = [str(name) for name, _ in sparse.symbols[0].shape()]
        go, idle0 = self.sparse.valid & self.ready, ~self.sparse.valid & self.ready
        m.d.comb += self.sparse.ready.eq(self.ready)
        keep = [Timed(sparse.keep[i], 0) if i < N else ZERO for i in range(P)]
        valid = p.register("valid", go, 0)
        idle = p.register("idle", idle0, 0)
        last = p.register("last", sparse.last, 0)
        clear = p.compute("clear", [last, valid, idle], lambda l, v, i: (l & v) | i)
        words = [Timed(Cat(Value.cast(sparse.symbols[i][f]) for f in names), 0) if i < N else None for i in range(P)]
        words = [w and p.register(f"word_{i}", w.value, 0) for i, w in enumerate(words)]
        keep = [k if k is ZERO else p.register(f"keep_{i}", k.value, 0) for i, k in enumerate(keep)]

        # counts[l][j]: number of words in block j of 2**l lanes
        counts = {}
        def direct(level):
            size = 1 << level
            out = []
            for j in range(0, P, size):
                t = Signal(level + 1, name=f"number_{level}_{j}")
                m.d.comb += t.eq(Mux(valid.value, popcount(k.value for k in keep[j:j + size]), 0))
                out.append([p.register(f"count{level}_{j}_{i}", t[i], 1) for i in range(level + 1)])
            return out
        counts[1] = direct(1)
        if n >= 2:
            counts[2] = direct(2)
        for level in range(3, n + 1):
            below = counts[level - 1]
            counts[level] = [p.add(f"count{level}_{j}", below[2 * j], below[2 * j + 1], level + 1) for j in range(P >> level)]
        total = list(counts[n][0])
        pre4 = [[]]
        if n > 2:
            pre4, low = self.prefix4(p, "count", [c[:2] for c in counts[2]])
            total[:2] = low
        # prefixes of blocks of 2**(k+1)
        prefix = {}
        for k in range(n):
            blocks = P >> (k + 1)
            if k == 0:
                prefix[0] = [([pre4[j // 2][0]] if pre4[j // 2] else []) + ([counts[1][j - 1][0]] if j % 2 else []) for j in range(blocks)]
            elif k == 1:
                prefix[1] = pre4
            else:
                own = [[] for _ in range(blocks)]
                for half in range(k + 1, n):  # blocks of 2**half merge
                    for j in range(blocks):
                        b = j >> (half - k - 1)
                        if b % 2:
                            c = counts[half][b - 1][:k + 1]
                            own[j] = p.add(f"prefix{k}_{half}_{j}", own[j], c, k + 1) if own[j] else c
                prefix[k] = own

        # the position
        self.state = []
        reset_state = []
        if not self.fold:
            base, rest = [], []
            carry = None
            cycle = 0
            for start in range(0, n, 2):
                size = min(2, n - start)
                ins = total[start:start + size]
                cycle = max([latest(ins), cycle + (start > 0)])
                state = Signal(size, name=f"base_{start}", reset_less=True)
                s = Signal(size + 1, name=f"sum_{start}")
                m.d.comb += s.eq(state + Cat(p.at(t, cycle) for t in ins) + (p.at(carry, cycle) if carry else 0))
                m.d.sync += state.eq(s[:size] & ~p.at(clear, cycle).replicate(size))
                reset_state.append(state)
                held = [state[i] for i in range(size)]
                base += [Timed(h, cycle) for h in held]
                rest += [p.register(f"rest_{start + i}", s[i], cycle) for i in range(size)]
                carry = p.register(f"carry_{start}", s[size], cycle)
            full = p.compute("full", [carry, total[n]], lambda a, b: a | b)
            fullt = None
        else:
            cycle = latest(total)
            state = Signal(n, name="base", reset_less=True)
            s = Signal(n + 1, name="position_sum")
            r = Signal(n, name="position_rest")
            m.d.comb += s.eq(state + Cat(p.at(t, cycle) for t in total))
            m.d.comb += r.eq(Mux(s >= N, s - N, s))
            m.d.sync += state.eq(Mux(p.at(clear, cycle), 0, r))
            reset_state.append(state)
            base = [Timed(state[i], cycle) for i in range(n)]
            rest = [p.register(f"rest_{i}", r[i], cycle) for i in range(n)]
            full = p.register("full", s >= N, cycle)

        # closings
        nonzero = lambda *bits: Cat(*bits).any()
        base_any = p.compute("base_any", base, nonzero)
        rest_any = p.compute("rest_any", rest, nonzero)
        closes = p.compute("closes", [valid, full, last, idle, base_any], lambda v, f, l, i, b: (v & (f | l)) | (i & b))
        second = p.compute("second", [full, last, rest_any], lambda f, l, r: f & l & r)

        # rows
        D = self.depth
        addr_bits = (D - 1).bit_length()
        cr = latest([closes, second])
        self.close_cycle = cr
        inc = Cat(p.at(closes, cr) ^ p.at(second, cr), p.at(second, cr))
        groups = -(-N // self.group)
        row_t, next_t = [], []
        for g in range(groups):
            row = Signal(addr_bits, name=f"row_{g}", init=g % D, reset_less=True)
            row_next = Signal(addr_bits, name=f"row_next_{g}", init=(g + 1) % D, reset_less=True)
            m.d.sync += [row.eq(row + inc), row_next.eq(row_next + inc)]
            reset_state += [row, row_next]
            row_t.append(Timed(row, cr))
            next_t.append(Timed(row_next, cr))

        # network
        present = list(keep)
        before = latest(present)
        T = None
        switched = words
        for k in range(n):
            far = 1 << k
            tops = {}
            for j in range(P >> (k + 1)):
                pre = prefix[k][j]
                if k == 0:
                    tops[j, 0] = [base[0], *pre], (lambda *bits: Cat(*bits).xor())
                elif k == 1:
                    ins = [base[0], base[1], *pre]
                    s = lambda *b: (Cat(b[:2]) + Cat(b[2:]))[:2]
                    a = p.compute(f"turn1_{j}_0", ins, lambda *b: s(*b).xor())
                    c = p.compute(f"turn1_{j}_1", ins, lambda *b: s(*b)[1])
                    tops[j, 0] = [a], (lambda x: x)
                    tops[j, 1] = [c], (lambda x: x)
                else:
                    if k == 2 and pre:
                        low = p.add(f"start{k}_{j}", base[:2], pre[:2], 3)
                        # low = s0 s1 carry
                        ins = [*low, base[2], *pre[2:3]]
                        fn = lambda lim: (lambda s0, s1, *r: (Cat(*r).xor()) ^ (lim < Cat(s0, s1)))
                    else:
                        s = p.add(f"start{k}_{j}", base[:k + 1], pre, k + 1)[:k + 1] if pre else base[:k + 1]
                        ins = list(s)
                        fn = lambda lim: (lambda *b: b[-1] ^ (lim < Cat(b[:-1])))
                    for place in range(far):
                        t = p.compute(f"turn{k}_{j}_{place}", ins, fn(place))
                        tops[j, place] = [t], (lambda x: x)
            cycle = max(latest([t for ins, _ in tops.values() for t in ins]), latest(present))
            if T is not None:
                cycle = max(cycle, T)
            T = cycle + 1
            print(f"N={N} step {k}: words switched in cycle {T}")
            cross, moved = {}, list(present)
            for j in range(P >> (k + 1)):
                for place in range(far):
                    left = j * 2 * far + place
                    right = left + far
                    ins, fn = tops[j, place]
                    turn = fn(*(p.at(t, cycle) for t in ins))
                    pl, pr = p.at(present[left], cycle), p.at(present[right], cycle)
                    cr_ = Signal(name=f"crossing{k}_{left}")
                    m.d.comb += cr_.eq(~(turn ^ pl))
                    cross[left] = p.register(f"cross{k}_{left}", cr_, cycle)
                    moved[left] = p.register(f"present{k}_{left}", Mux(cr_, pr, pl), cycle)
                    moved[right] = p.register(f"present{k}_{right}", Mux(cr_, pl, pr), cycle)
            present = moved
            new = list(switched)
            for left, c in cross.items():
                right = left + far
                x, y = switched[left], switched[right]
                if x is None and y is None:
                    continue
                xv = p.at(x, T) if x else p.at(y, T)
                yv = p.at(y, T) if y else p.at(x, T)
                c = p.at(c, T)
                new[left] = p.register(f"word{k}_{left}", Mux(c, yv, xv), T)
                new[right] = p.register(f"word{k}_{right}", Mux(c, xv, yv), T)
            switched = new
        # addresses
        W = T + 1 + self.fold
        b_ready = latest(base)
        wrap = [p.compute(f"wraps_{i}", base, lambda *b, i=i: i < Cat(*b)) for i in range(N)]
        if self.fold:
            final = []
            for i in range(N):
                other = switched[(i + N) % P]
                final.append(p.compute(f"folded_{i}", [wrap[i], switched[i], other], lambda w, a, b: Mux(w, b, a)))
            switched = final
        self.write_cycle = W = max(latest(switched[:N]), max(latest(wrap), cr) + 1)
        print("write cycle", W, "close cycle", cr, "base", [b.cycle for b in base])

        # closing stream
        c = cr
        pending = Signal(name="pending", reset_less=True)
        reset_state.append(pending)
        pc, ps, pf, pl_ = p.at(closes, c), p.at(second, c), p.at(full, c), p.at(last, c)
        restv = Cat(p.at(r, c) for r in rest)
        mine = Cat(restv, pf, pl_ & ~ps)
        later = Signal(n + 2, name="later", reset_less=True)
        m.d.sync += [pending.eq(ps | (pending & pc)), later.eq(Mux(ps, Cat(restv, Const(0, 1), Const(1, 1)), mine))]
        closed = p.register("closed", pc | pending, c)
        count = p.register("closed_count", Mux(pending, later, mine), c)
        cv = p.at(count, c + 1)
        mask = [p.register(f"mask_{i}", (i < cv[:n]) | cv[n], c + 1) for i in range(N)]
        mask.append(p.register("mask_last", cv[n + 1], c + 1))

        # output
        self.reset = reset = LateReset(max(2, groups // 2), W + 4)
        m.submodules.reset = reset
        front, behind, inside = Front(1 + groups), Level(D), Level(D)
        m.submodules.front, m.submodules.behind, m.submodules.inside = front, behind, inside
        valid_out, ready_in = front.valid[0], self.packed.ready
        announce = max(c + 1, W - 3, c + 3 - 3)
        print("announce", announce, "depth", D)
        up = p.at(closed, announce)
        arrive, near = Signal(reset_less=True), Signal(reset_less=True)
        announced = Signal()
        def announces(arrives):
            return front.room(arrives) & Mux(arrives, behind.more_than[1], behind.more_than[0])
        rc = reset.copies
        m.d.comb += [announced.eq(announces(near)), behind.up.eq(up), behind.down.eq(announced), front.arrives.eq(arrive),
                     front.ready.eq(ready_in), behind.reset.eq(rc[-1]), inside.reset.eq(rc[-2]),
                     inside.up.eq(closed.value), inside.down.eq(valid_out & ready_in),
                     self.packed.valid.eq(valid_out)]
        m.d.sync += [arrive.eq(announces(arrive)), near.eq(announced)]
        with m.If(reset.busy | ResetSignal()):
            m.d.sync += [arrive.eq(0), near.eq(0)]
        m.d.sync += self.ready.eq(~inside.more_than[self.threshold] & ~reset.busy)
        with m.If(rc[-3]):
            m.d.sync += [s.eq(s.init) for s in reset_state]
        for g in range(groups):
            mask_write = Signal(addr_bits, name=f"mask_write_{g}", init=g % D, reset_less=True)
            m.d.sync += mask_write.eq(mask_write + p.at(closed, c + 2))
            with m.If(rc[-4]):
                m.d.sync += mask_write.eq(mask_write.init)
            read = Signal(addr_bits, name=f"read_{g}", init=g % D, reset_less=True)
            # groups are kept apart
            with m.If(ready_in):
                m.d.sync += read.eq(read + front.valid[1 + g])
            with m.If(rc[g // 2]):
                m.d.sync += read.eq(read.init)
            part = range(g * self.group, min(N, (g + 1) * self.group))
            tail = g == groups - 1
            mm = memory.Memory(shape=len(part) + tail, depth=D, init=[])
            m.submodules[f"masks_{g}"] = mm
            wp, rp = mm.write_port(), mm.read_port(domain="comb")
            m.d.comb += [wp.en.eq(1), wp.addr.eq(mask_write), wp.data.eq(Cat(p.at(t, c + 2) for t in ([mask[i] for i in part] + ([mask[N]] if tail else [])))), rp.addr.eq(read)]
            masks = rp.data
            if tail:
                m.d.comb += self.packed.payload.last.eq(masks[-1])
            for q, i in enumerate(part):
                a = p.compute(f"address_{i}", [wrap[i], row_t[g], next_t[g]], lambda w, r, x: Mux(w, x, r))
                mem = memory.Memory(shape=len(p.at(switched[i], W)), depth=D, init=[])
                m.submodules[f"lane_{i}"] = mem
                wp, rp = mem.write_port(), mem.read_port(domain="comb")
                m.d.comb += [wp.en.eq(1), wp.addr.eq(p.at(a, W)), wp.data.eq(p.at(switched[i], W)), rp.addr.eq(read)]
                at, item = 0, self.packed.payload.symbols[i]
                m.d.comb += self.packed.payload.keep[i].eq(masks[q])
                for name in names:
                    field = Value.cast(item[name])
                    value = rp.data[at:at + len(field)]
                    at += len(field)
                    m.d.comb += field.eq(value & masks[q] if name == "error" and self.gate else value)
        return m

    depth = 16
    threshold = 5
    group = 4
    gate = False
