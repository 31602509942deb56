# SPDX-License-Identifier: MIT
"""Reads AMD GPU assembly: kernels, their instructions, and what can come after what.

    kernels = flow.read("primitives_gfx942.s")
    kernel = kernels["block_put_notify"]
    kernel.reaches(is_store, is_barrier, unless=is_drain)   # the first path without a drain, or None

Questions are asked of paths, not of lines: a wait that only one wave takes does not count for the others.
"""
import re

BRANCH = re.compile(r"^s_(c?branch\w*)\s+(\S+)")
LABEL = re.compile(r"^([.\w$]+):")
METADATA = re.compile(r"^\.(symbol|[sv]gpr_spill_count|wavefront_size):\s*'?([\w.$]+)'?$")


class Instruction:
    def __init__(self, line, text):
        self.line = line  # in the file, from 1
        self.text = text
        self.name, _, self.operands = text.partition(" ")
        self.next = []  # indices of what may run after it

    def has(self, *words):
        """Whether all these modifiers (sc0, sc1, glc, ...) stand behind the operands."""
        tail = set(re.split(r"[\s,]+", self.operands))
        return all(word in tail for word in words)

    def __repr__(self):
        return f"line {self.line}: {self.text}"


class Kernel:
    def __init__(self, name, instructions, properties):
        self.name = name
        self.code = instructions
        self.properties = properties  # the .amdhsa_ directives and spill counts, as integers

    def find(self, matches):
        return [i for i, x in enumerate(self.code) if matches(x)]

    def reaches(self, start, goal, unless=lambda x: False):
        """The first (start, goal) pair with a path between them that meets no `unless`, or None.

        A `start` of None means the entry. The goal "exit" is the end of the kernel.
        """
        origins = [-1] if start is None else self.find(start)
        for origin in origins:
            seen = set()
            todo = [0] if origin < 0 else list(self.code[origin].next)
            while todo:
                i = todo.pop()
                if i in seen:
                    continue
                seen.add(i)
                x = self.code[i]
                if unless(x):
                    continue
                if goal == "exit":
                    if x.name == "s_endpgm":
                        return (origin, i)
                elif goal(x):
                    return (origin, i)
                todo.extend(x.next)
        return None

    def after(self, origins, unless=lambda x: False):
        """The indices that can be reached from any of `origins`; `unless` ends a path."""
        seen = set()
        todo = [j for i in origins for j in self.code[i].next]
        while todo:
            i = todo.pop()
            if i not in seen and not unless(self.code[i]):
                seen.add(i)
                todo.extend(self.code[i].next)
        return seen

    def in_cycle(self, matches, unless=lambda x: False):
        """All matches that can be executed again after themselves, without an `unless` between."""
        return [self.code[i] for i in self.find(matches) if i in self.after([i], unless)]


def link(code, labels):
    for i, x in enumerate(code):
        branch = BRANCH.match(x.text)
        if x.name == "s_endpgm" or x.name.startswith("s_setpc"):
            continue
        if branch:
            target = labels[branch.group(2)]
            x.next.append(target)
            if branch.group(1) == "branch":
                continue
        if i + 1 < len(code):
            x.next.append(i + 1)


def read(path):
    """All kernels of an assembly file, by name."""
    kernels, properties = {}, {}
    name, code, labels = None, [], {}
    bodies, block, metadata = {}, None, {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            text = re.split(r";|//", line, maxsplit=1)[0].strip()
            if not text:
                continue
            label = LABEL.match(text)
            said = METADATA.match(text)
            if said:  # of one kernel; its keys are sorted
                metadata[said.group(1)] = said.group(2)
                if said.group(1) == "wavefront_size":
                    of_kernel = properties.setdefault(metadata["symbol"].removesuffix(".kd"), {})
                    of_kernel.update((key, int(metadata[key])) for key in metadata
                                     if key.endswith("spill_count"))
                    metadata = {}
            elif label and not label.group(1).startswith("."):
                name, code, labels = label.group(1), [], {}
                bodies[name] = (code, labels)
            elif label:
                if name:
                    labels[label.group(1)] = len(code)
            elif text.startswith(".amdhsa_kernel"):
                block = properties.setdefault(text.split()[1], {})
            elif text.startswith(".end_amdhsa_kernel"):
                block = None
            elif text.startswith(".amdhsa_") and block is not None:
                key, _, value = text.removeprefix(".amdhsa_").partition(" ")
                block[key] = int(value) if value.strip().isdigit() else value
            elif text.startswith(".section") or text.startswith(".end"):
                name = None
            elif name and not text.startswith("."):
                code.append(Instruction(number, " ".join(text.split())))
    for name, (code, labels) in bodies.items():
        if name in properties and code:
            labels = {k: min(v, len(code) - 1) for k, v in labels.items()}
            link(code, labels)
            kernels[name] = Kernel(name, code, properties[name])
    return kernels
