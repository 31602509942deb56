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
RULES = {
    "mma_f16_16": MMA, "mma_bf16_16": MMA, "mma_f16_32": MMA, "mma_bf16_32": MMA,
    "peer_copy": ["passes_caches", "once_a_region"],
    "reduce": [],
}

if __name__ == "__main__":
    sys.exit(primitives.main(Target, RULES))
