#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the assembly of the device primitives to the rules of docs/memory_model.md. Needs no GPU.

    primitives.py ARCH ASSEMBLY            every kernel of primitives.cpp keeps its rules
    primitives.py ARCH ASSEMBLY --broken   every kernel of broken.cpp breaks the one rule of its name

Each rule returns None or a sentence that says which instructions break it.
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import arguments  # noqa: E402
import flow  # noqa: E402


class Target:
    """How one architecture spells the things that the rules speak of."""

    def __init__(self, arch):
        self.is_90a = arch == "gfx90a"

    def through(self, x):
        """A store, or a load, that passes this device's caches."""
        return x.has("glc", "scc") if self.is_90a else x.has("sc0", "sc1")

    def is_store(self, x):
        return re.match(r"(global|buffer|flat)_store", x.name) is not None

    def is_drain(self, x):
        return x.name == "s_waitcnt" and re.search(r"vmcnt\(0\)", x.operands) is not None

    def is_barrier(self, x):
        return x.name == "s_barrier"

    def is_signal(self, x):
        return x.name == "global_atomic_add_x2" or x.name == "flat_atomic_add_x2"

    def is_coherent(self, x):
        """A load at system scope."""
        return x.has("glc") if self.is_90a else x.has("sc0", "sc1")

    def is_poll(self, x):
        """The load of a 64-bit count that others add to."""
        return re.match(r"(global|flat)_load_dwordx2", x.name) is not None and (
            x.has("glc") if self.is_90a else x.has("sc1"))

    def is_table(self, x):
        """A look at the table of windows, which never changes."""
        return x.name == "global_load_dwordx2" and "offset:8" in x.operands or (
            x.name == "global_load_dwordx2" and "s[" in x.operands and not self.is_coherent(x))

    def is_look_up(self, k, x):
        """A load of an address: of the table of windows, which never changes."""
        to = x.operands.split(", ")[0]

        def is_other(y):  # not the address, nor one a constant away
            first, *rest = y.operands.split(", ")
            return first == to and to not in rest

        users = [k.code[i] for i in k.after([k.code.index(x)], unless=is_other)]
        return any(re.match(r"(global|flat|buffer)_", y.name) and to in y.operands.split(", ")[:2]
                   for y in users)

    def is_claim(self, x):
        """What a wait that fails begins with: what lies behind one is its own."""
        return x.name in ("global_atomic_cmpswap", "flat_atomic_cmpswap")

    def unless_failed(self, k, wanted):
        """Where such instructions are that no failed wait comes before."""
        return [i for i in k.find(wanted)
                if k.reaches(None, lambda x: x is k.code[i], unless=self.is_claim)]

    def is_acquire(self, x):
        """One invalidate at system scope."""
        return x.name == "buffer_invl2" if self.is_90a else (x.name == "buffer_inv" and
                                                             x.has("sc0", "sc1"))

    def is_invalidate(self, x):
        """An invalidate at any scope."""
        return re.match(r"buffer_(inv|wbinv)", x.name) is not None

    def is_write_back(self, x):
        return x.name == "buffer_wbl2" and (self.is_90a or x.has("sc0", "sc1"))

    # ------------------------------------------------------------------------------------- rules

    def no_flat(self, k):
        """Heap pointers are known to be global memory."""
        found = k.find(lambda x: x.name.startswith("flat_"))
        return f"{k.code[found[0]]}" if found else None

    def no_scratch(self, k):
        """Nothing lives in private memory."""
        found = k.find(lambda x: x.name.startswith("scratch_"))
        if found:
            return f"{k.code[found[0]]}"
        size = k.properties.get("private_segment_fixed_size", 0)
        return f"{size} bytes of private memory" if size else None

    def written_through(self, k):
        """All stores before the first barrier or signal pass the L2."""
        bad = k.reaches(None, lambda x: self.is_store(x) and not self.through(x),
                        unless=lambda x: self.is_barrier(x) or self.is_signal(x))
        return f"{k.code[bad[1]]} stays in the L2" if bad else None

    def drained_before_barrier(self, k):
        """No wave comes to the barrier with a store of data on its way."""
        meets = lambda x: self.is_barrier(x) or self.is_signal(x)  # noqa: E731
        data = {id(k.code[i]) for i in {0} | k.after([0], unless=meets) if self.is_store(k.code[i])}
        if not data:
            return "no store"
        bad = k.reaches(lambda x: id(x) in data, self.is_barrier, unless=self.is_drain)
        return f"from {k.code[bad[0]]} to {k.code[bad[1]]} no vmcnt(0)" if bad else None

    def drained_before_signal(self, k):
        """No store is on its way when the signal leaves."""
        bad = k.reaches(self.is_store, self.is_signal, unless=self.is_drain)
        return f"from {k.code[bad[0]]} to {k.code[bad[1]]} no vmcnt(0)" if bad else None

    def barrier_before_signal(self, k):
        """The workgroup meets between the stores and the signal."""
        bad = k.reaches(self.is_store, self.is_signal, unless=self.is_barrier)
        return f"from {k.code[bad[0]]} to {k.code[bad[1]]} no s_barrier" if bad else None

    def signals_at_system_scope(self, k):
        """There is one signal, it reaches the peer, and nobody waits for its answer."""
        found = k.find(self.is_signal)
        if len(found) != 1:
            return f"{len(found)} signals, not 1"
        x = k.code[found[0]]
        if not self.is_90a and not x.has("sc1"):
            return f"{x} has no sc1"
        return f"{x} returns" if x.has("sc0") or x.has("glc") else None

    def no_write_back(self, k):
        """The cheap forms pay for no write-back."""
        found = k.find(lambda x: x.name == "buffer_wbl2")
        return f"{k.code[found[0]]}" if found else None

    def written_back_before_signal(self, k):
        """The full forms write the L2 back, and wait for it."""
        bad = k.reaches(None, self.is_signal, unless=self.is_write_back)
        if bad:
            return f"{k.code[bad[1]]} without buffer_wbl2"
        bad = k.reaches(self.is_write_back, self.is_signal, unless=self.is_drain)
        return f"from {k.code[bad[0]]} to {k.code[bad[1]]} no vmcnt(0)" if bad else None

    def written_back_once(self, k):
        """One wave writes back for all."""
        found = k.find(lambda x: x.name == "buffer_wbl2")
        before = k.reaches(lambda x: x.name == "buffer_wbl2", self.is_barrier)
        return f"{k.code[found[0]]} in every wave" if before else None

    def polls_at_system_scope(self, k):
        """What the spin loads comes from where peers write it."""
        def leaves(x):
            return self.is_store(x) or "atomic" in x.name or self.is_barrier(x)

        polls = k.in_cycle(lambda x: re.match(r"(global|flat)_load", x.name) and
                           not self.is_look_up(k, x), unless=leaves)
        polls = [x for x in polls if k.reaches(lambda y: y is x, lambda y: y.name == "s_sleep",
                                               unless=leaves)]
        if not polls:
            return "no load in a loop with s_sleep"
        bad = [x for x in polls if not self.is_coherent(x)]
        return f"{bad[0]} is not at system scope" if bad else None

    def no_acquire_in_spin(self, k):
        """Invalidates are not repeated."""
        bad = k.in_cycle(self.is_invalidate)
        return f"{bad[0]} in a loop" if bad else None

    def acquires_once(self, k):
        """There is one acquire, and none after it, apart from those of a wait that fails."""
        found = self.unless_failed(k, self.is_acquire)
        if len(found) != 1:
            return f"{len(found)} acquires, not 1"
        bad = k.reaches(lambda x: x is k.code[found[0]], self.is_acquire)
        return f"{k.code[bad[1]]} comes again" if bad else None

    def writes_back_and_acquires_once(self, k):
        """There is one write-back and one acquire, apart from those of a wait that fails."""
        backs = self.unless_failed(k, self.is_write_back)
        acquires = self.unless_failed(k, self.is_acquire)
        if len(backs) == len(acquires) == 1:
            return None
        return f"{len(backs)} write-backs and {len(acquires)} acquires"

    def acquires_before_use(self, k):
        """Nothing of the inbox (plain 32-bit loads) is read before the acquire."""
        bad = k.reaches(None, lambda x: re.match(r"(global|flat)_load_dword$", x.name) and
                        not self.is_coherent(x), unless=self.is_acquire)
        return f"{k.code[bad[1]]} before the acquire" if bad else None

    def acquires_before_barrier(self, k):
        """The workgroup meets behind the acquire of the wave that polled."""
        bad = k.reaches(self.is_poll, self.is_barrier, unless=self.is_acquire)
        return f"from {k.code[bad[0]]} to {k.code[bad[1]]} no acquire" if bad else None

    def no_scalar_load_after_acquire(self, k):
        """No acquire refreshes the scalar cache: only the arguments may come through it after one."""
        holds = arguments.followed(k)
        for i in sorted(k.after(k.find(self.is_invalidate))):
            x = k.code[i]
            if x.name.startswith(("s_load", "s_buffer_load")) and not holds(
                    i, x.operands.split(", ")[1]):
                return f"{x} after an acquire"
        return None

    def wide(self, k):
        """The bulk moves in 16-byte accesses."""
        loads = k.find(lambda x: re.match(r"(global|buffer)_load_dwordx4", x.name))
        stores = k.find(lambda x: re.match(r"(global|buffer)_store_dwordx4", x.name))
        if not loads or not stores:
            return f"{len(loads)} 16-byte loads and {len(stores)} 16-byte stores"
        return None

    def four_in_flight(self, k):
        """Four 16-byte loads are under way at once: no store and no wait for one of them between."""
        def stops(x):
            wait = re.search(r"vmcnt\((\d+)\)", x.operands)
            return self.is_store(x) or self.is_barrier(x) or bool(wait and int(wait.group(1)) < 3)

        loads = k.find(lambda x: re.match(r"(global|buffer)_load_dwordx4", x.name))
        behind = {i: k.after([i], unless=stops).intersection(loads) for i in loads}

        def most(chain):
            if len(chain) == 4:
                return 4
            return max((most(chain + [j]) for j in behind[chain[-1]] if j not in chain),
                       default=len(chain))

        best = max((most([i]) for i in loads), default=0)
        return None if best == 4 else f"only {best} 16-byte loads in flight"

    def read_past_caches(self, k):
        """Loads of a peer's memory do not hit what this device has cached."""
        data = k.find(lambda x: re.match(r"(global|buffer)_load_", x.name) and
                      not self.is_table(x))
        bad = [k.code[i] for i in data if not self.through(k.code[i])]
        return f"{bad[0]}" if bad or not data else None


ALWAYS = ["no_flat", "no_scratch"]
CHEAP = ["written_through", "drained_before_signal", "signals_at_system_scope", "no_write_back"]
FULL = ["drained_before_signal", "written_back_before_signal", "signals_at_system_scope"]
BLOCK = ["drained_before_barrier", "barrier_before_signal"]
WAIT = ["polls_at_system_scope", "no_acquire_in_spin", "acquires_once",
        "no_scalar_load_after_acquire"]
BULK = ["wide", "four_in_flight"]

RULES = {
    "block_put_notify": CHEAP + BLOCK + BULK,
    "block_copy_notify": CHEAP + BLOCK + BULK + ["read_past_caches"],
    "block_store_notify": CHEAP + BLOCK,
    "block_store1_notify": CHEAP + BLOCK,
    "block_store2_notify": CHEAP + BLOCK,
    "block_store4_notify": CHEAP + BLOCK,
    "block_store16_notify": CHEAP + BLOCK,
    "load_widths": ["read_past_caches"],
    "load16": ["read_past_caches"],
    "block_plain_notify": FULL + BLOCK + ["written_back_once"],
    "wave_put_notify": CHEAP + BULK,
    "thread_store_notify": CHEAP,
    "thread_plain_notify": FULL,
    "thread_quiet": CHEAP,
    "wave_quiet": CHEAP,
    "block_quiet": CHEAP + BLOCK,
    "block_wait_consume": WAIT + ["acquires_before_barrier"],
    "thread_wait_consume": WAIT + ["acquires_before_use"],
    "block_wait_pull": WAIT + ["acquires_before_barrier"],
    "barrier_exchange": ["drained_before_barrier", "drained_before_signal",
                         "barrier_before_signal", "written_back_before_signal",
                         "writes_back_and_acquires_once", "polls_at_system_scope",
                         "acquires_before_barrier", "no_scalar_load_after_acquire"],
}
for form in ("", "wave_", "block_"):
    RULES[f"bulk_{form}get"] = BULK + ["read_past_caches"]
    RULES[f"bulk_{form}put"] = BULK + ["written_through"]
    RULES[f"bulk_{form}copy"] = BULK + ["read_past_caches", "written_through"]


def check_kept(target, rules, always, kernels):
    failures = [f"{name}: the kernel is missing" for name in rules if name not in kernels]
    failures += [f"{name}: has no rules" for name in kernels if name not in rules]
    for name, kernel in kernels.items():
        for rule in always + rules.get(name, []):
            said = getattr(target, rule)(kernel)
            if said:
                failures.append(f"{name}: {rule}: {said}")
    return failures


def check_broken(target, needed, kernels, verbose):
    """A kernel breaks_<rule>[__<how>] must be refused by that rule."""
    failures, shown = [], set()
    for name, kernel in kernels.items():
        rule = name.removeprefix("breaks_").split("__")[0]
        said = getattr(target, rule)(kernel)
        if said is None:
            failures.append(f"{name}: {rule} does not see that it is broken")
        elif verbose:
            print(f"{name}: {said}")
        shown.add(rule)
    failures += [f"no kernel shows that {rule} can fail" for rule in sorted(needed - shown)]
    return failures


def all_of(rules, always):
    return {rule for some in rules.values() for rule in some} | set(always)


def main(kind=Target, rules=None, always=None):
    """Checks by the rules of `kind`; what it inherits broken.cpp shows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("arch", choices=["gfx90a", "gfx942", "gfx950"])
    parser.add_argument("assembly")
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="what each rule says of its kernel")
    options = parser.parse_args()
    kernels = flow.read(options.assembly)
    target = kind(options.arch)
    rules = RULES if rules is None else rules
    always = ALWAYS if always is None else always
    if options.broken:
        needed = all_of(rules, always)
        if kind is not Target:
            needed -= {rule for rule in all_of(RULES, ALWAYS)
                       if getattr(kind, rule) is getattr(Target, rule)}
        failures = check_broken(target, needed, kernels, options.verbose)
    else:
        failures = check_kept(target, rules, always, kernels)
    for failure in failures:
        print(f"{options.arch}: {failure}")
    print(f"{options.arch}: {len(kernels)} kernels, {len(failures)} failures")
    return 1 if failures or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
