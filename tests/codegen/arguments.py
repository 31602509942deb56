# SPDX-License-Identifier: MIT
"""Follows the address of a kernel's arguments through scalar registers and the places where they are
saved, so that a scalar load of an argument can be told from one of memory that somebody writes.

    holds = arguments.followed(kernel)
    holds(i, "s[4:5]")   # whether that pair is an address among the arguments before instruction i

An address among the arguments is their address plus a constant, on every path. What the analysis does
not know how to follow it takes for something else.
"""
import re

CONSTANT = re.compile(r"-?(0x[0-9a-f]+|\d+)$")
REGISTER = re.compile(r"([sva])(?:(\d+)|\[(\d+):(\d+)\])$")
WRITES_NONE = ("s_cmp", "s_bitcmp", "s_cbranch", "s_branch", "s_waitcnt", "s_nop", "s_barrier",
               "s_sleep", "s_endpgm", "s_setprio", "global_store", "buffer_store", "ds_write")
WRITES_TWO = re.compile(r"v_(\w+_co_|mad_[iu]64_|div_scale_)")


def registers(operand):
    """The 32-bit registers that an operand names: s4, v7, a1, vcc_lo, ..."""
    if operand in ("vcc", "exec"):
        return [operand + "_lo", operand + "_hi"]
    match = REGISTER.match(operand)
    if not match:
        return [operand]
    first, last = match.group(2) or match.group(3), match.group(2) or match.group(4)
    return [f"{match.group(1)}{i}" for i in range(int(first), int(last) + 1)]


def written(x, operands):
    """The registers that an instruction overwrites."""
    if not operands or x.name.startswith(WRITES_NONE):
        return []
    named = operands[:2] if WRITES_TWO.match(x.name) else operands[:1]
    return [r for operand in named for r in registers(operand)]


def step(x, state):
    """What holds after an instruction: register, or (vector register, lane) -> "low" or "high"."""
    operands = x.operands.split(", ") if x.operands else []
    gains = {}
    if x.name in ("s_mov_b32", "s_mov_b64"):
        for to, source in zip(registers(operands[0]), registers(operands[1])):
            gains[to] = state.get(source)
    elif x.name in ("s_add_u32", "s_addc_u32"):
        wanted = "low" if x.name == "s_add_u32" else "high"
        for a, b in (operands[1:3], operands[2:0:-1]):
            if state.get(a) == wanted and CONSTANT.match(b):
                gains[operands[0]] = wanted
    elif x.name == "v_writelane_b32":
        after = dict(state)
        after[operands[0], operands[2]] = state.get(operands[1])
        return {key: half for key, half in after.items() if half}
    elif x.name == "v_readlane_b32":
        gains[operands[0]] = state.get((operands[1], operands[2]))
    lost = set(written(x, operands))
    after = {key: half for key, half in state.items()
             if (key[0] if isinstance(key, tuple) else key) not in lost}
    after.update((to, half) for to, half in gains.items() if half)
    return after


def followed(kernel):
    """The analysis of a kernel, as a function of an instruction's index and a register pair."""
    p = kernel.properties
    first = 4 * p.get("user_sgpr_private_segment_buffer", 0) + 2 * p.get(
        "user_sgpr_dispatch_ptr", 0) + 2 * p.get("user_sgpr_queue_ptr", 0)
    before = {0: {f"s{first}": "low", f"s{first + 1}": "high"}}
    todo = [0]
    while todo:
        i = todo.pop()
        after = step(kernel.code[i], before[i])
        for j in kernel.code[i].next:
            known = before.get(j)
            both = after if known is None else {
                key: half for key, half in known.items() if after.get(key) == half}
            if both != known:
                before[j] = both
                todo.append(j)

    def holds(i, pair):
        return [before.get(i, {}).get(r) for r in registers(pair)] == ["low", "high"]

    return holds
