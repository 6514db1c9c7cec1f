"""libascendcl.so exports exactly what its headers declare and its list of functions says; the reference page is made of
that list; and each function that is listed as refused does refuse, with a text that names it.

usage: symbols_test.py LIBRARY ROOT
"""
import ctypes
import pathlib
import re
import subprocess
import sys

FEATURE_NOT_SUPPORT = 207000
LEAST_FUNCTIONS = 140
RETURNS_POINTER = {"aclrtAllocatorCreateDesc"}


def exported(library):
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in output.splitlines()}


def declared(root):
    names = set()
    for header in pathlib.Path(root, "acl/include/acl").rglob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        names |= set(re.findall(r"ACL_FUNC_VISIBILITY\s[^;]*?\b(acl\w+)\(", text))
    return names


def wrong_refusals(library, refused):
    # Refusals look at no argument, so zeros for all of them will do.
    loaded = ctypes.CDLL(library)
    loaded.aclGetRecentErrMsg.restype = ctypes.c_char_p
    for name in refused:
        function = getattr(loaded, name)
        function.restype = ctypes.c_void_p if name in RETURNS_POINTER else ctypes.c_int
        result = function(*[ctypes.c_void_p(0)] * 6)
        text = loaded.aclGetRecentErrMsg().decode()
        if result != (None if name in RETURNS_POINTER else FEATURE_NOT_SUPPORT):
            yield f"{name} is listed as refused, but returned {result}"
        if not text.startswith(name + ": ") or len(text) < len(name) + 20:
            yield f"{name} refuses without saying why: '{text}'"


def main(library, root):
    sys.path.insert(0, root + "/acl")
    import symbols  # acl/symbols.py

    listed = symbols.read_list(root)
    names = {name for name, _, _ in listed}
    wrong = []
    for what, others in (("declared in no header", declared(root)), ("not exported", exported(library))):
        wrong += [f"{name} is listed, but {what}" for name in sorted(names - others)]
    for what, others in (("declared", declared(root)), ("exported", exported(library))):
        wrong += [f"{name} is {what}, but not listed" for name in sorted(others - names)]
    if len(names) != len(listed):
        wrong.append("a name is listed twice")
    if len(names) < LEAST_FUNCTIONS:
        wrong.append(f"only {len(names)} functions")
    page = pathlib.Path(root, "docs/reference/ascendcl.md").read_text(encoding="utf-8")
    if page != symbols.document(listed):
        wrong.append("docs/reference/ascendcl.md is not what acl/symbols.py makes; make it again")
    wrong += wrong_refusals(library, [name for name, kind, _ in listed if kind == "refused"])
    for line in wrong:
        print(line)
    print(f"{len(names)} functions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
