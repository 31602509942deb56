#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the assembly of the amd backend to the rules of docs/porting.md. Needs no GPU.

    platform.py ARCH ASSEMBLY            every kernel of platform.cpp keeps its rules
    platform.py ARCH ASSEMBLY --broken   every kernel of platform_broken.cpp breaks its one

Each rule returns None or a sentence that says which instructions break it.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import primitives  # noqa: E402


class Target(primitives.Target):
    def __init__(self, arch):
        super().__init__(arch)
        self.arch = arch

    def matrix_instructions(self, k):
        """The loop multiplies with what this architecture has for the type, k = 64 a round."""
        of = {
            "gfx90a": {"f16_16": ("16x16x16f16", 4), "bf16_16": ("16x16x16bf16_1k", 4),
                       "f16_32": ("32x32x8f16", 8), "bf16_32": ("32x32x8bf16_1k", 8)},
            "gfx942": {"f16_16": ("16x16x16_f16", 4), "bf16_16": ("16x16x16_bf16", 4),
                       "f16_32": ("32x32x8_f16", 8), "bf16_32": ("32x32x8_bf16", 8)},
            "gfx950": {"f16_16": ("16x16x32_f16", 2), "bf16_16": ("16x16x32_bf16", 2),
                       "f16_32": ("32x32x16_f16", 4), "bf16_32": ("32x32x16_bf16", 4)},
        }[self.arch]
        name, count = of.get(k.name.removeprefix("mma_"), of["f16_16"])
        found = k.find(lambda x: x.name.startswith("v_mfma"))
        others = [k.code[i] for i in found if k.code[i].name != "v_mfma_f32_" + name]
        if others:
            return f"{others[0]}, not {name}"
        repeated = k.in_cycle(lambda x: x.name.startswith("v_mfma"))
        return None if len(repeated) >= count else f"{len(repeated)} in the loop, not {count}"

    def wide_workgroup_memory(self, k):
        """Fragments come from, and tiles go to, workgroup memory in 16-byte accesses."""
        narrow = k.find(lambda x: re.match(r"ds_(read|write)", x.name) and "b128" not in x.name)
        if narrow:
            return f"{k.code[narrow[0]]}"
        both = [k.find(lambda x, n=n: x.name == f"ds_{n}_b128") for n in ("read", "write")]
        return None if all(both) else "no 16-byte accesses"

    def system_scope(self, k):
        """Loads, stores and read-modify-writes reach the system. (gfx90a says so in loads only.)"""
        loads = k.find(lambda x: re.match(r"(global|flat)_load", x.name))
        atomics = k.find(lambda x: re.match(r"(global|flat)_atomic", x.name))
        stores = k.find(lambda x: re.match(r"(global|flat)_store", x.name))
        bad = [i for i in loads if not self.is_coherent(k.code[i])]
        if not self.is_90a:
            bad += [i for i in atomics if not k.code[i].has("sc1")]
            if not loads and not atomics:  # else the store is that of the result
                bad += [i for i in stores if not self.through(k.code[i])]
        if not loads + atomics + stores:
            return "no access"
        return f"{k.code[bad[0]]}" if bad else None

    def release_waits(self, k):
        """The L2 is written back, and that is waited for, though this wave has stored nothing."""
        access = lambda x: re.match(r"(global|buffer)_(store|atomic)", x.name)  # noqa: E731
        bad = k.reaches(None, access, unless=self.is_write_back)
        if bad:
            return f"{k.code[bad[1]]} without buffer_wbl2"
        bad = k.reaches(self.is_write_back, access, unless=self.is_drain)
        return f"from {k.code[bad[0]]} to {k.code[bad[1]]} no vmcnt(0)" if bad else None

    def acquire_invalidates(self, k):
        """The access completes, then the caches are invalidated, then the result is used."""
        access = lambda x: re.match(r"(global|flat)_(load|atomic)", x.name)  # noqa: E731
        if not k.find(access):
            return "no access"
        bad = k.reaches(access, self.is_acquire, unless=self.is_drain)
        if bad:
            return f"{k.code[bad[1]]} does not wait for {k.code[bad[0]]}"
        bad = k.reaches(access, "exit", unless=self.is_acquire)
        return f"no invalidate after {k.code[bad[0]]}" if bad else None

    def native_add(self, k):
        """Float sums are one instruction, over the fabric too; a loop on gfx90a, which has none."""
        wanted = "global_atomic_cmpswap" if self.is_90a else "global_atomic_add_f32"
        return None if k.find(lambda x: x.name == wanted) else f"no {wanted}"

    def passes_caches(self, k):
        """16-byte accesses of a peer pass this device's caches."""
        data = k.find(lambda x: re.match(r"(global|buffer)_(load|store)_dwordx4", x.name))
        bad = [k.code[i] for i in data if not self.through(k.code[i])]
        return f"{bad[0]}" if bad else (None if len(data) == 2 else f"{len(data)} accesses, not 2")

    def once_a_region(self, k):
        """A buffer access stands in a loop over the regions that the lanes of the wave touch."""
        buffers = k.find(lambda x: x.name.startswith("buffer_") and "dwordx4" in x.name)
        if not buffers:
            return "no buffer access"
        looped = {id(x) for x in k.in_cycle(lambda x: x.name.startswith("buffer_"))}
        bad = [k.code[i] for i in buffers if id(k.code[i]) not in looped]
        return f"{bad[0]} is in no loop" if bad else None


MMA = ["matrix_instructions", "wide_workgroup_memory"]
primitives.ALWAYS = ["no_flat", "no_scratch"]
primitives.RULES = {
    "mma_f16_16": MMA, "mma_bf16_16": MMA, "mma_f16_32": MMA, "mma_bf16_32": MMA,
    "load_relaxed": ["system_scope"],
    "load_acquire": ["system_scope", "acquire_invalidates"],
    "store_relaxed": ["system_scope"],
    "store_release": ["system_scope", "release_waits"],
    "exchange_acq_rel": ["system_scope", "release_waits", "acquire_invalidates"],
    "add_release": ["system_scope", "release_waits"],
    "add_float": ["system_scope", "native_add"],
    "max_float": ["system_scope"],
    "fence_release": ["system_scope", "release_waits"],
    "peer_copy": ["passes_caches", "once_a_region"],
    "reduce": [],
}
primitives.Target = Target

if __name__ == "__main__":
    sys.exit(primitives.main())
