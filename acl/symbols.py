"""Makes docs/reference/ascendcl.md from acl/symbols.txt, the one list of the functions of libascendcl.so.

Usage: symbols.py ROOT > ROOT/docs/reference/ascendcl.md
"""

import sys

HEAD = """# Functions of the AscendCL library

<!-- Made by `acl/symbols.py`; a test compares it with the list, the headers and the library. -->

*real*: does what AscendCL says, on a simulated NPU. *extension*: Cistern's own, in no CANN. *refused*: returns
`ACL_ERROR_RT_FEATURE_NOT_SUPPORT` (or NULL), and `aclGetRecentErrMsg()` says why. No function does nothing in silence.

"""
KINDS = ("real", "extension", "refused")


def read_list(root):
    """[(name, kind, remark)] in the order of the list."""
    symbols = []
    with open(f"{root}/acl/symbols.txt", encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            name, kind, remark = line.rstrip("\n").split(";", 2)
            if kind not in KINDS:
                raise ValueError(f"{name}: '{kind}' is none of {KINDS}")
            symbols.append((name, kind, remark))
    return symbols


def document(symbols):
    counts = ", ".join(f"{sum(kind == each for _, kind, _ in symbols)} {each}" for each in KINDS)
    rows = "".join(f"| `{name}` | {kind} | {remark} |\n" for name, kind, remark in symbols)
    return f"{HEAD}{len(symbols)} functions: {counts}.\n\n| Function | | Remark |\n| --- | --- | --- |\n{rows}"


if __name__ == "__main__":
    sys.stdout.write(document(read_list(sys.argv[1])))
