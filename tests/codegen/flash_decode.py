#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the assembly of the kernels of Flash Decode to the rules of the hardware. Needs no GPU.

    flash_decode.py ARCH ASSEMBLY     every kernel of flash_decode.cpp keeps its rules

That each rule can fail is shown by broken.cpp and platform_broken.cpp, whose rules these are.
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import flow  # noqa: E402
import primitives  # noqa: E402

# Nothing in private memory or spilled, heap pointers known to be global memory.
ALWAYS = ["no_flat", "no_scratch"]
SENDS = ["wide"]


def spills(kernel):
    count = kernel.properties.get("vgpr_spill_count", 0)
    return f"{count} vector registers spilled" if count else None


def multiplies(kernel):
    """Scores and weighted values are made by matrix instructions."""
    found = kernel.find(lambda x: x.name.startswith("v_mfma"))
    return None if len(found) >= 2 else f"{len(found)} matrix instructions"


def loads_together(kernel):
    """Loads of a step leave together: no wait for all of them between two."""
    best = run = 0
    for x in kernel.code:
        if re.match(r"(global|buffer)_load_dwordx4", x.name):
            run += 1
        elif x.name == "s_waitcnt" and "vmcnt(0)" in x.operands:
            run = 0
        best = max(best, run)
    return None if best >= 2 else f"only {best} 16-byte loads in flight"


def check(target, kernels):
    failures = [] if len(kernels) >= 9 else [f"only {len(kernels)} kernels"]
    for name, kernel in kernels.items():
        rules = [(rule, getattr(target, rule)) for rule in ALWAYS]
        rules.append(("spills", spills))
        if name.startswith(("gather", "fused")):
            rules += [(rule, getattr(target, rule)) for rule in SENDS]
        if name.startswith(("attend", "fused")):
            rules += [("multiplies", multiplies), ("loads_together", loads_together)]
        failures += [f"{name}: {rule}: {said}" for rule, holds in rules
                     for said in [holds(kernel)] if said]
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("arch", choices=["gfx90a", "gfx942", "gfx950"])
    parser.add_argument("assembly")
    options = parser.parse_args()
    kernels = flow.read(options.assembly)
    failures = check(primitives.Target(options.arch), kernels)
    for failure in failures:
        print(f"{options.arch}: {failure}")
    print(f"{options.arch}: {len(kernels)} kernels, {len(failures)} failures")
    return 1 if failures or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
