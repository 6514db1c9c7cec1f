#!/usr/bin/env python3
"""Has spin search a model whole, and says whether it found what it should.

usage: check_model.py [-h] [--expect-error | --expect-deadlock] MODEL [DEFINITION...]

Translates the model, compiles the search it gives, and runs it. Succeeds when the search was complete and found
nothing;
with --expect-error, when a search of the model with its planted mistake found an assertion violated; with
--expect-deadlock, when it found a run that ends with somebody waiting for ever; and no other kind of error.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DEEPEST = 1_000_000  # steps of one run; "max search depth too small" is a failure
SECONDS = 280


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.returncode, done.stdout + done.stderr


def search(model, definitions, compiler):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(model, folder)
        steps = (["spin", *(f"-D{each}" for each in definitions), "-a", model.name],
                 [compiler, "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=2000", "-o", "search", "pan.c"],
                 ["./search", f"-m{DEEPEST}", "-w22"])
        output = ""
        for step in steps:
            code, output = run(folder, *step)
            if code != 0:
                sys.exit(f"{' '.join(step)} failed with {code}:\n{output}")
        return output


def verdict(output, expected):
    """Why the search is not what was expected; None when it is."""
    found = re.search(r"errors: (\d+)", output)
    if found is None:
        return "the search printed no number of errors"
    errors = int(found.group(1))
    if expected:
        if errors == 0:
            return "the planted mistake was not found"
        return None if expected in output else f"the error found is not: {expected}"
    if errors != 0:
        return "the model has an error"
    incomplete = re.search(r"Search not completed|search depth too small|out of memory", output)
    return "the search was not complete" if incomplete else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expect-error", dest="expected", action="store_const", const="assertion violated")
    parser.add_argument("--expect-deadlock", dest="expected", action="store_const", const="invalid end state")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("definitions", nargs="*", metavar="DEFINITION")
    arguments = parser.parse_args()
    output = search(arguments.model.resolve(), arguments.definitions, arguments.cc)
    print(output)
    wrong = verdict(output, arguments.expected)
    if wrong:
        sys.exit(f"{arguments.model.name} {' '.join(arguments.definitions)}: {wrong}")


if __name__ == "__main__":
    main()
