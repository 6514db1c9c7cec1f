"""The house's habits that no compiler checks: short lines, functions and files, a paragraph on top, no banned calls.

Usage: tidy.py ROOT. Prints every violation as path:line: text and fails if there is one.
"""

import re
import sys

from source import CPP_SUFFIXES, Finding, Tree, code_only, functions, line_of

LONGEST_LINE = 120
LONGEST_FUNCTION = 69
LONGEST_FILE = 499
SHORTEST_PARAGRAPH = 40

PRODUCT = ("src", "cli", "acl", "include")
CODE = PRODUCT + ("tests", "bench", "examples")
SCRIPTS = {".py", ".sh"}

BANNED_IN_PRODUCT = {
    r"\b(?:std::)?v?(?:f|s)?printf\s*\(": "build a string, or use snprintf",
    r"\b(?:std::)?(?:strcpy|strcat|strtok|gets|sprintf)\s*\(": "it can't know the buffer's size",
    r"\b(?:std::)?(?:atoi|atol|atoll|atof)\s*\(": "it can't report an error; use std::from_chars",
    r"\b(?:std::)?s?rand\s*\(": "seeded generators only",
    r"(?<![\w.>:])(?:std::)?system\s*\(": "no shell",
    r"\.detach\s*\(\s*\)": "a thread that nobody joins outlives what it uses",
    r"\busing\s+namespace\s+std\b": "name what is used",
    r"\bstd::(?:cout|cerr|clog|endl)\b": "rooms log; the tool prints by cli/ui/output.hpp",
    r"\b(?:const_cast|reinterpret_cast)\s*<\s*volatile\b": "volatile is no synchronisation",
}
BANNED_EVERYWHERE = {
    r"\bassert\s*\(\s*(?:true|1)\s*\)": "it can't fail",
    r"\b(?:EXPECT|ASSERT)_TRUE\s*\(\s*true\s*\)": "it can't fail",
    r"\b(?:EXPECT|ASSERT)_FALSE\s*\(\s*false\s*\)": "it can't fail",
    r"\bDISABLED_\w+": "a test runs or is removed",
}
UNFINISHED = re.compile(r"\b(?:T" + r"ODO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b")


def lines(content):
    return enumerate(content.split("\n"), start=1)


def check_lines(tree):
    """Line length, white space at line ends, tabs, the last line's end."""
    for path, content in tree.files.items():
        is_source = path.endswith(tuple(CPP_SUFFIXES | SCRIPTS) + ("CMakeLists.txt",))
        is_code = (path.split("/")[0] in CODE and is_source) or path in ("dev", ".ci/run", "CMakeLists.txt")
        if not is_code and not path.endswith((".md", ".cmake")):
            continue
        for number, line in lines(content):
            if is_code and len(line) > LONGEST_LINE:
                yield Finding(path, number, f"{len(line)} columns, at most {LONGEST_LINE}")
            if line != line.rstrip():
                yield Finding(path, number, "white space at the line's end")
            if is_code and "\t" in line:
                yield Finding(path, number, "a tab")
        if content and not content.endswith("\n"):
            yield Finding(path, content.count("\n") + 1, "the last line has no end")


def check_lengths(tree):
    """Functions that fit a screen, files that fit a head."""
    for path, content in tree.below(*CODE, suffixes=CPP_SUFFIXES | SCRIPTS):
        count = content.count("\n")
        if count > LONGEST_FILE:
            yield Finding(path, LONGEST_FILE + 1, f"{count} lines, at most {LONGEST_FILE}")
    for path, content in tree.below(*CODE):
        for first, last in functions(content):
            if last - first + 1 > LONGEST_FUNCTION:
                yield Finding(path, first, f"a function of {last - first + 1} lines, at most {LONGEST_FUNCTION}")


def has_paragraph(content):
    match = re.match(r"(?://[^\n]*\n)+|/\*.*?\*/", content, re.DOTALL)
    return match is not None and len(re.sub(r"[/*\s]+", " ", match.group()).strip()) >= SHORTEST_PARAGRAPH


def check_paragraphs(tree):
    """Every file says its idea on top; x.cpp may leave that to its x.hpp."""
    for path, content in tree.below(*CODE):
        header = tree.files.get(path.removesuffix(".cpp") + ".hpp", "") if path.endswith(".cpp") else ""
        if not has_paragraph(content) and not has_paragraph(header):
            yield Finding(path, 1, "no paragraph on top that says the idea of this file")
    for path, content in tree.below(*CODE, suffixes={".py"}):
        if not re.match(r'(?:#![^\n]*\n)?"""', content):
            yield Finding(path, 1, "no paragraph on top that says the idea of this file")


def check_headers(tree):
    """Headers in C++ are guarded by the pragma, those in C by a macro."""
    for path, content in tree.below(*CODE, suffixes={".hpp"}):
        if "\n#pragma once\n" not in content:
            yield Finding(path, 1, "no #pragma once")
    for path, content in tree.below("include", "acl", suffixes={".h"}):
        if not re.search(r"^#ifndef (\w+)\n#define \1$", content, re.MULTILINE):
            yield Finding(path, 1, "no include guard")


def check_banned(tree):
    """Calls that the house does without."""
    for path, content in tree.below(*CODE):
        code = code_only(content)
        banned = dict(BANNED_EVERYWHERE)
        if path.split("/")[0] in PRODUCT:
            banned |= BANNED_IN_PRODUCT
        for pattern, reason in banned.items():
            for match in re.finditer(pattern, code):
                yield Finding(path, line_of(code, match.start()), f"{match.group().strip()}: {reason}")


def check_finished(tree):
    """Nothing is left for later in the code: what is open is an issue."""
    for path, content in tree.files.items():
        if path.split("/")[0] not in CODE and path not in ("dev", ".ci/run"):
            continue
        for number, line in lines(content):
            if UNFINISHED.search(line):
                yield Finding(path, number, "unfinished: " + line.strip()[:60])


def check_options(tree):
    """Every option of the table is in the reference, and nothing else is."""
    table_path, page_path = "src/base/option_table.cpp", "docs/reference/options.md"
    names = set(re.findall(r'\.name = "(\w+)"', tree.files.get(table_path, "")))
    documented = set(re.findall(r"^\| `(\w+)` \|", tree.files.get(page_path, ""), re.MULTILINE))
    if not names:
        yield Finding(table_path, 1, "no option found in the table")
    for name in sorted(names - documented):
        yield Finding(page_path, 1, f"{name} is missing: run `cistern options --markdown > {page_path}`")
    for name in sorted(documented - names):
        yield Finding(page_path, 1, f"{name} is no option")


RULES = [
    check_lines,
    check_lengths,
    check_paragraphs,
    check_headers,
    check_banned,
    check_finished,
    check_options,
]


def main():
    tree = Tree.read(sys.argv[1])
    findings = [finding for rule in RULES for finding in rule(tree)]
    for finding in findings:
        print(finding)
    print(f"tidy: {len(tree.files)} files, {len(findings)} violations")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
