"""libcistern.so exports exactly what the C headers declare, under CISTERN_0, what the AscendCL library
needs beyond it under CISTERN_PRIVATE, and needs the C and C++ runtime only.

usage: symbols_test.py LIBRARY HEADER...
"""
import re
import subprocess
import sys

RUNTIME = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2",
           "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(library, *headers):
    text = ""
    for header in headers:
        with open(header, encoding="utf-8") as file:
            text += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    declared = set(re.findall(r"CISTERN_API\s[^;]*?\b(cistern_\w+)\(", text))
    versioned = {}
    for line in output("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        name, _, version = line.split()[-1].partition("@@")
        if name not in ("CISTERN_0", "CISTERN_PRIVATE"):  # the nodes themselves
            versioned[name] = version
    private = {name for name in versioned if name.startswith("cistern_private_")}
    wrong = [f"{name} has version '{versioned.pop(name)}', not CISTERN_PRIVATE" for name in sorted(private)
             if versioned[name] != "CISTERN_PRIVATE"]
    versioned = {name: version for name, version in versioned.items() if name not in private}
    if len(declared) < 30:
        wrong.append(f"only {len(declared)} declarations found in {headers}: this test reads it wrongly")
    wrong += [f"{name} is declared but not exported" for name in sorted(declared - versioned.keys())]
    wrong += [f"{name} is exported but not declared" for name in sorted(versioned.keys() - declared)]
    wrong += [f"{name} has version '{version}', not CISTERN_0" for name, version in versioned.items()
              if version != "CISTERN_0"]
    dynamic = output("readelf", "-dW", library)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    wrong += [f"needs {name}, which is no part of the C and C++ runtime" for name in sorted(needed - RUNTIME)]
    if "[libcistern.so.0]" not in dynamic:
        wrong.append("the soname is not libcistern.so.0")
    # Each undefined symbol must come from one of these libraries, by its version; the linker has checked the rest.
    for line in output("nm", "-D", "--undefined-only", "--with-symbol-versions", library).splitlines():
        kind, symbol = line.split()[-2:]
        if kind == "U" and not re.search(r"@(GLIBC|GLIBCXX|CXXABI|GCC)_", symbol):
            wrong.append(f"undefined symbol {symbol} is of no known library")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
