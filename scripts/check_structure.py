#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the rules of the house that a script can hold; prints one line a violation.

    scripts/check_structure.py              checks the repository that it stands in
    scripts/check_structure.py --self-test  shows that every rule can fail
    scripts/check_structure.py --write-index  renews the table of headers in docs/index.md

The rules: vendor words and #if only where they belong, includes point downwards, every header has a
test and stands in docs/index.md, no file over 400 lines or 100
columns, licence line first, one version everywhere,
the kernel and the recipes in the README are those that are compiled, no path of a developer's machine.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

MAX_LINES = 400
MAX_COLUMNS = 100  # the formatter leaves comments alone
CXX = {".hpp", ".cpp"}
VENDOR = re.compile(
    r"\basm\b|__asm|__builtin_|\bthreadIdx\b|\bblockIdx\b|\bblockDim\b|__shared__|__global__"
    r"|\bhip[A-Z]\w*|\bcuda[A-Z]\w*|\bhip/hip_|<<<")
MACHINE = re.compile(r"(?<![\w.])/(work|home|root|tmp/bash_jobs)/\w")

# Besides the ladders: what the compiler and the processor are, which sanitizer watches the emulator.
MAY_ASK_THE_COMPILER = {"include/hiris/platform/config.hpp",
                        "include/hiris/platform/cpu/sanitizer.hpp",
                        "include/hiris/platform/cpu/product.hpp"}

# Rooms, from the ground up. A file includes from its own row and from rows above it in this list.
ROWS = [
    ["order", "error", "platform"],
    ["context", "bootstrap", "detail"],
    ["rma", "atomic", "signal", "barrier"],
    ["world", "world_peer"],
    ["tile", "mma"],
    ["heap", "collectives"],
    ["launch", "stream_barrier"],
    ["comm"],
    ["ops"],
    ["hiris"],
]
ROW_OF = {room: row for row, rooms in enumerate(ROWS) for room in rooms}
# What runs in a kernel knows nothing of the host's set-up.
DEVICE_ROOMS = {"context", "rma", "atomic", "signal", "barrier", "tile", "mma"}
HOST_ROOMS = {"bootstrap", "world", "world_peer", "heap", "collectives", "launch", "stream_barrier", "comm", "ops"}


def without_comments(text):
    """The text with comments and string literals blanked, lines kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    return pattern.sub(lambda m: "\n" * m.group(0).count("\n"), text)


def tracked(root):
    try:
        names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                               capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):  # no git, or not a checkout
        names = [str(p.relative_to(root)) for p in root.rglob("*")]
        names = [n for n in names if n != ".git" and not n.startswith(("build/", ".git/"))]
    return sorted(n for n in names if n and (root / n).is_file())


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = tracked(self.root)
        self.found = []

    def say(self, rule, name, text):
        self.found.append(f"{name}: {rule}: {text}")

    def text(self, name):
        return (self.root / name).read_text(encoding="utf-8", errors="replace")

    def cxx(self):
        return [n for n in self.files if pathlib.Path(n).suffix in CXX]

    def headers(self):
        return [n for n in self.files if n.startswith("include/hiris/") and n.endswith(".hpp")]

    @staticmethod
    def is_backend(name):
        return re.search(r"platform/.*_(cpu|cuda|amd|gpu)(_\w+)?\.hpp$", name) is not None \
            or name.startswith(("include/hiris/platform/cpu/", "include/hiris/platform/detail/"))

    def is_ladder(self, name):
        """platform/x.hpp beside platform/x_amd.hpp: the one place that chooses between them."""
        return name.startswith("include/hiris/platform/") and any(
            f"{name[:-4]}_{vendor}.hpp" in self.files for vendor in ("amd", "cuda", "cpu"))

    def check_seam(self):
        for name in self.cxx():
            if name.startswith(("include/hiris/platform/", "tests/platform/", "tests/codegen/")):
                continue
            for number, line in enumerate(without_comments(self.text(name)).split("\n"), 1):
                match = VENDOR.search(line)
                if match:
                    self.say("seam", f"{name}:{number}", f"'{match.group(0)}' belongs under platform/")

    def check_conditionals(self):
        for name in self.cxx():
            if name in MAY_ASK_THE_COMPILER or self.is_ladder(name):
                continue
            for number, line in enumerate(without_comments(self.text(name)).split("\n"), 1):
                if re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else)\b", line):
                    self.say("conditional", f"{name}:{number}", f"'{line.strip()}' belongs in "
                             "platform/config.hpp or a platform ladder")

    @staticmethod
    def room(path):
        return path.split("/")[0].removesuffix(".hpp")

    def check_includes(self):
        for name in self.headers():
            path = name.removeprefix("include/hiris/")
            own = self.room(path)
            if own not in ROW_OF:
                self.say("room", name, f"'{own}' has no place in the rows of this script")
                continue
            for match in re.finditer(r'^\s*#\s*include\s+"hiris/([^"]+)"', self.text(name), re.M):
                other = self.room(match.group(1))
                upwards = ROW_OF.get(other, 99) > ROW_OF[own]
                beside = ROW_OF.get(other) == ROW_OF[own] and own != other and own == "context" \
                    and other == "bootstrap"
                sideways = own in DEVICE_ROOMS and other in HOST_ROOMS
                if upwards or beside or sideways:
                    self.say("includes", name, f"hiris/{match.group(1)} is not below it")

    def check_mirror(self):
        for name in self.headers():
            path = name.removeprefix("include/hiris/").removesuffix(".hpp")
            if path == "hiris" or self.is_backend(name) or "/detail/" in f"/{path}":
                continue
            # A part x_y.hpp of x.hpp may be tested with the whole.
            whole = [path] + [path[:at] for at, c in enumerate(path) if c == "_"
                              and f"include/hiris/{path[:at]}.hpp" in self.files]
            if any(f"tests/{stem}_test.cpp" in self.files for stem in whole):
                continue
            # One typed suite in the same room may hold several policies to one concept.
            room = f"tests/{path.rpartition('/')[0]}/"
            suites = [n for n in self.files if n.startswith(room) and n.endswith("_test.cpp")]
            if "/" not in path or not any(f'"hiris/{path}.hpp"' in self.text(n) for n in suites):
                self.say("mirror", name, f"has no test (tests/{path}_test.cpp)")

    def check_whole(self):
        """hiris.hpp has every header of its folder and every op, or says which it has not."""
        if "include/hiris/hiris.hpp" not in self.files:
            return
        text = self.text("include/hiris/hiris.hpp")
        ops = [n for n in self.headers() if n.startswith("include/hiris/ops/")]
        parts = [n for n in ops if any(n.startswith(o.removesuffix(".hpp") + "_") for o in ops)]
        for name in self.headers():
            path = name.removeprefix("include/hiris/")
            if path == "hiris.hpp" or path in text or name in parts:
                continue
            if "/" not in path or name in ops:
                self.say("whole", "include/hiris/hiris.hpp", f"does not have {path}")

    def check_files(self):
        for name in self.files:
            path = pathlib.Path(name)
            is_script = path.suffix in {".py", ".sh"} or name.startswith(("scripts/", ".ci/"))
            if path.suffix not in CXX and not is_script and path.suffix != ".cmake":
                continue
            lines = self.text(name).split("\n")
            if len(lines) - 1 > MAX_LINES:
                self.say("length", name, f"{len(lines) - 1} lines, {MAX_LINES} allowed")
            if path.suffix in CXX:
                for number, line in enumerate(lines, 1):
                    if len(line) > MAX_COLUMNS:
                        self.say("width", f"{name}:{number}",
                                 f"{len(line)} columns, {MAX_COLUMNS} allowed")
            if path.suffix in CXX and lines[0] != "// SPDX-License-Identifier: MIT":
                self.say("licence", name, "the first line is not the SPDX licence line")
            if is_script and not any("SPDX-License-Identifier: MIT" in x for x in lines[:2]):
                self.say("licence", name, "no SPDX licence line at the top")
            if name in self.headers():
                if "/// @file" not in lines[:4]:
                    self.say("comment", name, "does not begin with a '/// @file' comment")
                if "#pragma once" not in lines:
                    self.say("comment", name, "has no '#pragma once'")

    def header_table(self):
        """Public headers with the first sentence of each, as rows of the table in docs/index.md."""
        rows = []
        for name in self.headers():
            path = name.removeprefix("include/hiris/")
            if self.is_backend(name) or "/detail/" in f"/{path}":
                continue
            comment = re.search(r"/// @file\n((?:/// .*\n)+)", self.text(name))
            words = re.sub(r"\n?/// ?", " ", comment.group(1)).strip() if comment else ""
            sentence = re.match(r".*?[^.\s][.](?=\s|$)|.*", words).group(0)
            rows.append(f"| `{path}` | {sentence.replace('|', chr(92) + '|')} |")
        return "\n".join(rows)

    def check_docs(self):
        index = self.text("docs/index.md") if "docs/index.md" in self.files else ""
        for row in self.header_table().split("\n"):
            if row not in index.split("\n"):
                self.say("docs", "docs/index.md", f"lacks the row {row} (--write-index adds it)")

    def write_index(self):
        path = self.root / "docs/index.md"
        begin, end = "|---|---|\n", "\n<!-- end of headers -->"
        before, rest = path.read_text().split(begin, 1)
        path.write_text(before + begin + self.header_table() + end + rest.split(end, 1)[1])

    def check_links(self):
        for name in self.files:
            if not name.endswith(".md"):
                continue
            for match in re.finditer(r"\]\(([^)#\s]+)(#[^)]*)?\)", self.text(name)):
                if "://" not in match.group(1) and \
                        not ((self.root / name).parent / match.group(1)).exists():
                    self.say("link", name, f"'{match.group(1)}' is not there")

    def check_version(self):
        cmake = re.search(r"project\(hiris VERSION ([\d.]+)", self.text("CMakeLists.txt"))
        changelog = re.search(r"^## \[?([\d.]+)", self.text("CHANGELOG.md"), re.M)
        if not cmake or not changelog or cmake.group(1) != changelog.group(1):
            self.say("version", "CHANGELOG.md", "its newest version is not that of CMakeLists.txt: "
                     f"{changelog and changelog.group(1)}, {cmake and cmake.group(1)}")

    def check_quote(self):
        """A block of the README with 'from FILE' above it is that file's [readme] part."""
        for match in re.finditer(r"<!-- from (\S+) -->\n```\w+\n(.*?)```", self.text("README.md"), re.S):
            name, quote = match.groups()
            source = self.text(name) if name in self.files else ""
            part = re.search(r"(?://|#) \[readme\]\n(.*?)(?://|#) \[/readme\]", source, re.S)
            if not part or part.group(1) != quote:
                self.say("quote", "README.md", f"it does not quote the [readme] part of {name}")

    def check_machine(self):
        for name in self.files:
            for number, line in enumerate(self.text(name).split("\n"), 1):
                if name != "scripts/check_structure.py" and MACHINE.search(line):
                    self.say("machine", f"{name}:{number}", "a path of somebody's machine")

    def run(self):
        for rule in (self.check_seam, self.check_conditionals, self.check_includes,
                     self.check_mirror, self.check_whole, self.check_files, self.check_docs,
                     self.check_links, self.check_version, self.check_quote, self.check_machine):
            rule()
        return self.found


def self_test():
    """Plants one violation of each rule and expects to be told of it, and of nothing else."""
    good = "// SPDX-License-Identifier: MIT\n/// @file\n/// Text.\n#pragma once\n"
    spdx = "// SPDX-License-Identifier: MIT\n"
    base = {
        "CMakeLists.txt": "project(hiris VERSION 1.2.3)\n", "CHANGELOG.md": "## 1.2.3\n",
        "README.md": "<!-- from examples/a.cpp -->\n```cpp\nint a;\n```\n",
        "examples/a.cpp": spdx + "// [readme]\nint a;\n// [/readme]\n",
        "docs/index.md": "| `platform/config.hpp` | Text. |\n| `rma.hpp` | Text. |\n",
        "include/hiris/rma.hpp": good, "tests/rma_test.cpp": spdx,
        "include/hiris/platform/config.hpp": good + "#if 1\n#endif\nhipMalloc asm\n",
        "tests/platform/config_test.cpp": spdx + "hipMalloc(x)\n",
    }
    planted = {
        "seam": ("include/hiris/rma.hpp", good + "int x = threadIdx.x;  // hipMalloc\n"),
        "conditional": ("include/hiris/rma.hpp", good + "#ifdef X\n#endif\n"),
        "includes": ("include/hiris/rma.hpp", good + '#include "hiris/ops/x.hpp"\n'),
        "room": ("include/hiris/other.hpp", good),
        "mirror": ("include/hiris/atomic.hpp", good),
        "whole": ("include/hiris/hiris.hpp", good.replace("Text", "Whole")),
        "length": ("tests/rma_test.cpp", spdx + "\n" * 400),
        "width": ("tests/rma_test.cpp", spdx + "// " + "x" * 98 + "\n"),
        "licence": ("tests/rma_test.cpp", "int x;\n"),
        "comment": ("include/hiris/rma.hpp", spdx + "#pragma once\n"),
        "docs": ("docs/index.md", "| `platform/config.hpp` | Text. |\n| `rma.hpp` | Other. |\n"),
        "link": ("README.md", "[x](nowhere.md)\n"),
        "version": ("CHANGELOG.md", "## 1.2.4\n"),
        "quote": ("examples/a.cpp", spdx + "// [readme]\nint b;\n// [/readme]\n"),
        "machine": ("docs/x.md", "see /home/somebody/x\n"),
    }
    for rule, (name, text) in [("nothing", ("README.md", ""))] + list(planted.items()):
        with tempfile.TemporaryDirectory() as folder:
            for path, content in {**base, name: text}.items():
                file = pathlib.Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content)
            found = Checker(folder).run()
            also = {"room": {"mirror", "docs"}, "mirror": {"docs"}, "whole": {"docs"}, "comment": {"docs"}}.get(rule, set())
            rules = {line.split(": ")[1] for line in found}
            if rules - also != ({rule} if rule != "nothing" else set()):
                sys.exit(f"check_structure: self-test of rule '{rule}': found {found}")
    print(f"structure: all {len(planted)} rules can fail")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--write-index", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    checker = Checker(pathlib.Path(__file__).resolve().parent.parent)
    if arguments.write_index:
        checker.write_index()
    found = checker.run()
    for line in found:
        print(line)
    print(f"structure: {len(found)} violation{'s' if len(found) != 1 else ''}")
    return sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
