#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the assembly of the kernels of Flash Decode to the rules of the hardware. Needs no GPU.

    flash_decode.py ARCH ASSEMBLY            every kernel of flash_decode.cpp keeps its rules
    flash_decode.py ARCH ASSEMBLY --broken   every kernel of flash_decode_broken.cpp breaks its one
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import primitives  # noqa: E402


class Target(primitives.Target):
    def spills(self, k):
        """No vector register is saved to memory."""
        count = k.properties.get("vgpr_spill_count")
        if count is None:
            return "the assembly does not say how many registers are spilled"
        return f"{count} vector registers spilled" if count else None

    def multiplies(self, k):
        """Scores and weighted values are made by matrix instructions."""
        found = k.find(lambda x: x.name.startswith("v_mfma"))
        return None if len(found) >= 2 else f"{len(found)} matrix instructions"

    def loads_together(self, k):
        """Loads of a step leave together: no wait for all of them between two."""
        best = run = 0
        for x in k.code:
            if re.match(r"(global|buffer)_load_dwordx4", x.name):
                run += 1
            elif self.is_drain(x):
                run = 0
            best = max(best, run)
        return None if best >= 4 else f"only {best} 16-byte loads in flight"


ALWAYS = primitives.ALWAYS + ["spills", "no_scalar_load_after_acquire"]
RULES = {}
for element in ("fp16", "bf16"):
    for head_dim in (64, 128, 192, 256):
        makes = ["multiplies", "loads_together"]
        RULES[f"attend_{element}_{head_dim}"] = makes
        RULES[f"fused_{element}_{head_dim}"] = makes + ["wide"]
    for policy in ("bulk", "gathered", "awaited"):
        RULES[f"combine_{element}_{policy}"] = []
        RULES[f"gather_{policy}"] = ["wide"]

if __name__ == "__main__":
    sys.exit(primitives.main(Target, RULES, ALWAYS))
