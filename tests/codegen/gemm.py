#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the assembly of the fused GEMM's main loop to its rules. Needs no GPU.

    gemm.py ARCH ASSEMBLY            every kernel of gemm.cpp keeps its rules
    gemm.py ARCH ASSEMBLY --broken   every kernel of gemm_broken.cpp breaks its one

Ragged edges are loaded element by element; the rules are about the way that whole tiles take.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import primitives  # noqa: E402

# 16-byte loads of a thread for one step of both operands: (m + n) * k / 8 / threads.
LOADS = {"square": 8, "large": 6, "skinny": 9}


def is_mfma(x):
    return x.name.startswith("v_mfma")


def is_wide_load(x):
    return re.match(r"(global|buffer)_load_dwordx4", x.name) is not None


def is_element_load(x):
    return re.match(r"(global|buffer)_load_(short|ushort|ubyte)", x.name) is not None


class Target(primitives.Target):
    def multiplies_in_loop(self, k):
        """The matrix unit works in the loop over k."""
        looped = k.in_cycle(is_mfma)
        return None if len(looped) >= 4 else f"{len(looped)} matrix instructions in a loop"

    def wide_fragments(self, k):
        """What the matrix unit takes from workgroup memory comes 16 bytes at a time."""
        def stop(x):
            return x.name == "s_barrier" or is_mfma(x)

        reads = k.find(lambda x: x.name.startswith("ds_read"))
        feeding = [i for i in reads
                   if any(is_mfma(k.code[j]) for j in self.next_ones(k, i, stop))]
        bad = [k.code[i] for i in feeding if k.code[i].name != "ds_read_b128"]
        if bad:
            return f"{bad[0]}"
        return None if feeding else "no fragment comes from workgroup memory"

    @staticmethod
    def next_ones(k, origin, stop):
        """The first instructions after `origin`, on any path, at which `stop` holds."""
        seen, todo, found = set(), list(k.code[origin].next), []
        while todo:
            i = todo.pop()
            if i in seen:
                continue
            seen.add(i)
            if stop(k.code[i]):
                found.append(i)
            else:
                todo.extend(k.code[i].next)
        return found

    def wide_loads(self, k):
        """A round of the main loop over whole tiles loads 16 bytes at a time, and all it needs."""
        forth = k.after(k.find(is_mfma), unless=is_element_load)
        wide = [i for i in forth if is_wide_load(k.code[i])
                and any(is_mfma(k.code[j]) for j in k.after([i], unless=is_element_load))]
        wanted = LOADS.get(k.name.rsplit("_", 1)[-1], 4)
        return None if len(wide) >= wanted else f"{len(wide)} 16-byte loads a round, not {wanted}"

    def loads_in_flight(self, k):
        """There is a way on which none of a round's loads is waited for before the multiply."""
        def waits(x):
            return x.name == "s_waitcnt" and "vmcnt" in x.operands

        ahead = [i for i in k.find(is_wide_load)
                 if any(is_mfma(k.code[j]) for j in k.after([i], unless=waits))]
        wanted = LOADS.get(k.name.rsplit("_", 1)[-1], 4)
        return None if len(ahead) >= wanted else f"{len(ahead)} loads in flight, not {wanted}"

    def wide_commits(self, k):
        """Tiles go to workgroup memory 16 bytes at a time."""
        if not k.find(lambda x: x.name == "ds_write_b128"):
            return "no ds_write_b128"
        narrow = k.find(lambda x: re.match(r"ds_write_b(8|16)", x.name))
        return f"{k.code[narrow[0]]}" if narrow else None

    def no_acquire_in_spin(self, k):
        """Between an acquire and the sleep of a spin, either way, lies another look at a signal."""
        def looks(x):
            return re.match(r"(global|flat)_load", x.name) is not None and self.is_coherent(x)

        def sleeps(x):
            return x.name == "s_sleep"

        bad = k.reaches(self.is_acquire, sleeps, unless=looks) or k.reaches(
            sleeps, self.is_acquire, unless=looks)
        return f"{k.code[bad[0]]} and {k.code[bad[1]]} in one spin" if bad else None


MAIN_LOOP = ["multiplies_in_loop", "wide_fragments", "wide_loads", "loads_in_flight",
             "wide_commits", "no_acquire_in_spin", "no_scalar_load_after_acquire"]
RULES = {name: MAIN_LOOP for name in (
    "gemm_pull_square", "gemm_push_square", "gemm_push_fused_square", "gemm_bulk_large",
    "gemm_push_row_major_square", "gemm_push_row_major_skinny")}

if __name__ == "__main__":
    sys.exit(primitives.main(Target, RULES))
