#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the assembly of fences and atomics to what their order and scope need. Needs no GPU.

    ordering.py ARCH ASSEMBLY            every kernel of ordering.cpp keeps its rules
    ordering.py ARCH ASSEMBLY --broken   every kernel of ordering_broken.cpp breaks its one

The name of a kernel ends with an order and a scope: those it has or, where it is broken, claims. Data
are 16 bytes wide, words that order them 4, addresses in tables 8. The rules are those of LLVM's memory
models of gfx90a and gfx942 without TgSplit.
"""
import itertools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import primitives  # noqa: E402

ORDERED = re.compile(r"_(relaxed|acquire|release|acq_rel|seq_cst)_(workgroup|agent|system)$")
SCOPES = ("workgroup", "agent", "system")


def is_data(x):
    return re.match(r"global_(load|store)_dwordx4", x.name) is not None


class Target(primitives.Target):
    def __init__(self, arch):
        super().__init__(arch)
        # What a scope's accesses say, and what writes back and invalidates the caches that the
        # threads of the scope do not share.
        if self.is_90a:
            self.load_bits = {"workgroup": set(), "agent": {"glc"}, "system": {"glc"}}
            self.store_bits = dict.fromkeys(SCOPES, set())
            self.atomic_bits = self.store_bits
            self.write_backs = {"workgroup": [], "agent": [], "system": ["buffer_wbl2"]}
            self.invalidates = {"workgroup": [], "agent": ["buffer_wbinvl1_vol"],
                                "system": ["buffer_invl2", "buffer_wbinvl1_vol"]}
        else:
            self.load_bits = {"workgroup": {"sc0"}, "agent": {"sc1"}, "system": {"sc0", "sc1"}}
            self.store_bits = self.load_bits
            self.atomic_bits = {"workgroup": set(), "agent": set(), "system": {"sc1"}}
            self.write_backs = {"workgroup": [], "agent": ["buffer_wbl2 sc1"],
                                "system": ["buffer_wbl2 sc0 sc1"]}
            self.invalidates = {"workgroup": [], "agent": ["buffer_inv sc1"],
                                "system": ["buffer_inv sc0 sc1"]}

    @staticmethod
    def claim_of(k):
        """Whether a kernel claims to release, whether to acquire, and the scope."""
        order, scope = ORDERED.search(k.name).groups()
        return order in ("release", "acq_rel", "seq_cst"), order in ("acquire", "acq_rel",
                                                                    "seq_cst"), scope

    @staticmethod
    def is_atomic(x):
        return re.match(r"(global|flat)_atomic", x.name) is not None

    def asks(self, k):
        """The accesses that learn something of other threads."""
        return [x for x in k.code if self.is_atomic(x) or x.name == "global_load_dword"]

    def tells(self, x):
        """An access that other threads learn something from."""
        return self.is_atomic(x) or self.is_store(x) and not is_data(x)

    # ------------------------------------------------------------------------------------- rules

    def no_flat(self, k):
        """As ever, but for an atomic at workgroup scope, which may be of workgroup memory."""
        found = k.find(lambda x: x.name.startswith("flat_") and not (
            self.is_atomic(x) and k.name.endswith("_workgroup")))
        return f"{k.code[found[0]]}" if found else None

    def at_scope(self, k):
        """Accesses reach as far as the scope, and no farther."""
        scope = self.claim_of(k)[2]
        found = [x for x in k.code if self.tells(x)] + self.asks(k)
        for x in found:
            wanted, bits = self.load_bits[scope], {"glc", "scc", "sc0", "sc1"}
            if self.is_atomic(x):  # of which sc0 and glc say that it returns
                wanted, bits = self.atomic_bits[scope], {"scc", "sc1"}
            elif self.is_store(x):
                wanted = self.store_bits[scope]
            if {bit for bit in bits if x.has(bit)} != wanted:
                return f"{x}, not {' '.join(sorted(wanted)) or 'bare'}"
        return None if found else "no access"

    def release_waits(self, k):
        """Caches are written back, and all is waited for, also by a wave that has stored nothing."""
        releases, _, scope = self.claim_of(k)
        if not releases or scope == "workgroup":
            return None
        for text in self.write_backs[scope]:
            bad = k.reaches(None, self.tells, unless=lambda x: x.text == text)
            if bad:
                return f"{k.code[bad[1]]} without {text}"
        bad = k.reaches(None, self.tells, unless=self.is_drain) or k.reaches(
            lambda x: is_data(x) and self.is_store(x) or x.name == "buffer_wbl2", self.tells,
            unless=self.is_drain)
        return f"{k.code[bad[1]]} without vmcnt(0)" if bad else None

    def acquire_invalidates(self, k):
        """The access completes, then the caches are invalidated, then data are read."""
        _, acquires, scope = self.claim_of(k)
        if not acquires:
            return None
        access = self.asks(k) or [x for x in k.code if self.tells(x)]

        def asked(x):
            return any(x is y for y in access)

        for text in self.invalidates[scope]:
            bad = k.reaches(asked, lambda x: x.text == text, unless=self.is_drain)
            if bad:
                return f"{k.code[bad[1]]} does not wait for {k.code[bad[0]]}"
            bad = k.reaches(asked, lambda x: is_data(x) or x.name == "s_endpgm",
                            unless=lambda x: x.text == text)
            if bad:
                return f"{k.code[bad[1]]} without {text}"
        return None

    def in_order(self, k):
        """Data are stored before a release, in workgroup memory completely, and read after an acquire."""
        releases, acquires, _ = self.claim_of(k)
        if releases:
            for goes in (lambda x: is_data(x) and self.is_store(x),
                         lambda x: x.name.startswith("ds_write")):
                bad = k.reaches(None, self.tells, unless=goes)
                if bad:
                    return f"{k.code[bad[1]]} comes too early"
            bad = k.reaches(lambda x: x.name.startswith("ds_write"), self.tells,
                            unless=lambda x: x.name == "s_waitcnt" and "lgkmcnt(0)" in x.operands)
            if bad:
                return f"from {k.code[bad[0]]} to {k.code[bad[1]]} no lgkmcnt(0)"
        if acquires:
            asked = self.asks(k)
            bad = k.reaches(lambda x: is_data(x) and not self.is_store(x),
                            lambda x: any(x is y for y in asked))
            if bad:
                return f"{k.code[bad[0]]} comes too early"
        return None

    def pays_no_more(self, k):
        """No write-back and no invalidate but those that the order and the scope ask for, once."""
        releases, acquires, scope = self.claim_of(k)
        wanted = (self.write_backs[scope] if releases else []) + (
            self.invalidates[scope] if acquires else [])
        found = [x.text for x in k.code if x.name == "buffer_wbl2" or self.is_invalidate(x)]
        extra = [text for text in found if text not in wanted]
        if extra:
            return f"{extra[0]} is not asked for"
        return f"{len(found)} of {len(wanted)}" if len(found) > len(wanted) else None

    def native_add(self, k):
        """Float sums are one instruction, over the fabric too; a loop on gfx90a, which has none."""
        wanted = "global_atomic_cmpswap" if self.is_90a else "global_atomic_add_f32"
        return None if k.find(lambda x: x.name == wanted) else f"no {wanted}"


ALL = ["at_scope", "release_waits", "acquire_invalidates", "in_order", "pays_no_more"]
ORDERS = {
    "fence": ("acquire", "release", "acq_rel", "seq_cst"),
    "atomic": ("relaxed", "acquire", "release", "acq_rel", "seq_cst"),
    "load": ("relaxed", "acquire", "seq_cst"),
    "store": ("relaxed", "release", "seq_cst"),
}
RULES = {f"{what}_{order}_{scope}": ALL
         for what, orders in ORDERS.items() for order, scope in itertools.product(orders, SCOPES)}
RULES |= {
    "alone_release_agent": ["at_scope", "release_waits", "pays_no_more"],
    "alone_release_system": ["at_scope", "release_waits", "pays_no_more"],
    "float_add_relaxed_system": ["at_scope", "pays_no_more", "native_add"],
    "float_max_relaxed_system": ["at_scope", "pays_no_more"],
}

if __name__ == "__main__":
    sys.exit(primitives.main(Target, RULES))
