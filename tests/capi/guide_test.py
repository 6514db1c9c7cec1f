"""Every code block of the embedding guide stands, line by line, in a program that is built and run by the tests.

usage: guide_test.py SOURCE_DIR
"""
import re
import sys
import textwrap
from pathlib import Path

PROGRAMS = {"c": ["examples/quickstart.c"], "cpp": ["examples/quickstart.cpp", "tests/capi/program.cpp"],
            "cmake": ["examples/CMakeLists.txt"], "sh": ["tests/capi/install_test.sh", "examples/CMakeLists.txt"]}


def lines_of(text):
    return [line.strip() for line in textwrap.dedent(text).splitlines() if line.strip()]


def stands_in(block, program):
    return any(program[i:i + len(block)] == block for i in range(len(program) - len(block) + 1))


def main(source):
    guide = (source / "docs/guide/embedding.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w*)\n(.*?)```", guide, flags=re.S)
    missing = []
    for language, block in blocks:
        wanted = lines_of(block)
        programs = [lines_of((source / name).read_text(encoding="utf-8")) for name in PROGRAMS.get(language, [])]
        if not any(stands_in(wanted, program) for program in programs):
            missing.append(f"this {language or 'nameless'} block is in no tested program:\n{block}")
    if len(blocks) < 4:
        missing.append(f"only {len(blocks)} code blocks found: this test reads the guide wrongly")
    print("\n".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
