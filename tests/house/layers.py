"""Who may include whom: each room of the house uses only the rooms below it, and others' libraries stay at the doors.

Usage: layers.py ROOT. Prints every violation as path:line: text and fails if there is one.
"""

import re
import sys

from source import Finding, Tree, code_only, line_of

# Rooms of one floor do not know each other.
FLOORS = [
    {"base"},
    {"core"},
    {"device"},
    {"pool"},
    {"compact", "trace", "engine"},
    {"plan", "replay", "report"},
    {"capi"},
    {"acl", "cli"},
]
FLOOR_OF = {room: number for number, floor in enumerate(FLOORS) for room in floor}

# What an application links: nothing but the C and C++ libraries.
RUNTIME_ROOMS = {"base", "core", "device", "pool", "compact", "trace", "engine", "capi"}
SYSTEM_FOLDERS = ("sys/", "linux/")
OTHERS_HEADERS = re.compile(r"^(CLI|nlohmann|onnx|google|fmt|elfutils)/|^(zlib|zstd|lz4)\.h$|\.pb\.h$")
# How many files may include what costs seconds a file to compile.
AT_MOST_ONE_FILE = {"CLI11": re.compile(r"^CLI/"), "the ONNX schema": re.compile(r"^onnx/|\.pb\.h$")}

PLATFORM_ROOMS = {"base", "device"}
PLATFORM = re.compile(
    r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*\b"
    r"(?:_?_?(?:linux|unix|APPLE|ANDROID|FreeBSD|CYGWIN|MINGW32|MINGW64)_*|_?WIN(?:32|64)|_MSC_VER"
    r"|__(?:x86_64|i386|aarch64|arm|riscv|powerpc64)(?:__)?|_M_X64)\b",
    re.MULTILINE,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(path):
    parts = path.split("/")
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in FLOOR_OF else None


def includes(content):
    # Comments are blanked, but so are strings: names are read from the original at the same place.
    code = code_only(content)
    for match in INCLUDE.finditer(content):
        if code[match.start(2) - 1] in "<\"" and "include" in code[match.start() : match.start(2)]:
            yield match.group(1), match.group(2), line_of(content, match.start())


def check_rooms(tree):
    """A room includes itself and the rooms on the floors below."""
    for path, content in tree.below("src", "cli", "acl"):
        room = room_of(path)
        if room not in FLOOR_OF:
            yield Finding(path, 1, f"the room '{room}' has no floor in tests/house/layers.py")
            continue
        for quote, name, line in includes(content):
            other = name.split("/")[0]
            if quote == "<" or other in ("cistern", room) or (room == "acl" and other == "acl"):
                continue
            if other not in FLOOR_OF:
                yield Finding(path, line, f'"{name}": write includes as "room/file.hpp"')
            elif FLOOR_OF[other] >= FLOOR_OF[room]:
                yield Finding(path, line, f"{room} must not know {other} (\"{name}\")")


def check_public_headers(tree):
    """What users include needs nothing that is not installed."""
    for path, content in tree.below("include"):
        for quote, name, line in includes(content):
            if quote == '"' and not name.startswith("cistern/"):
                yield Finding(path, line, f'a public header includes "{name}"')


def check_links(tree):
    """cistern_room(x USES ...) names lower rooms only, as the includes do."""
    for path, content in tree.files.items():
        if not path.endswith("CMakeLists.txt"):
            continue
        for match in re.finditer(r"cistern_room\(\s*(\w+)\s+USES\s+([\w\s]+?)\s+SOURCES", content):
            room, used = match.group(1), match.group(2).split()
            for other in used:
                if FLOOR_OF.get(other, len(FLOORS)) >= FLOOR_OF.get(room, -1):
                    yield Finding(path, line_of(content, match.start()), f"{room} must not link {other}")


def check_others_libraries(tree):
    """Runtime rooms depend on nobody; expensive headers are in one file each."""
    users = {what: [] for what in AT_MOST_ONE_FILE}
    for path, content in tree.below("src", "cli", "acl"):
        for quote, name, line in includes(content):
            for what, pattern in AT_MOST_ONE_FILE.items():
                if pattern.search(name):
                    users[what].append((path, line))
            is_foreign = OTHERS_HEADERS.search(name) or (
                quote == "<" and "/" in name and not name.startswith(SYSTEM_FOLDERS)
            )
            if is_foreign and room_of(path) in RUNTIME_ROOMS:
                yield Finding(path, line, f"a runtime room includes <{name}>: libc and libstdc++ only")
    for what, places in users.items():
        files = sorted({path for path, _ in places})
        for path, line in places:
            if len(files) > 1 and path != files[0]:
                yield Finding(path, line, f"{what} is included by {files[0]} already: one file only")
            if what == "CLI11" and not path.startswith("cli/"):
                yield Finding(path, line, "CLI11 belongs to cli/")


def check_platforms(tree):
    """Differences between platforms are hidden in base and device."""
    for path, content in tree.below("src", "cli", "acl"):
        if room_of(path) in PLATFORM_ROOMS:
            continue
        for match in PLATFORM.finditer(code_only(content)):
            yield Finding(path, line_of(content, match.start()), "a platform is asked for outside base and device")


RULES = [check_rooms, check_public_headers, check_links, check_others_libraries, check_platforms]


def check(tree, rules):
    return [finding for rule in rules for finding in rule(tree)]


def main():
    tree = Tree.read(sys.argv[1])
    rooms = {room_of(path) for path, _ in tree.below("src")}
    if not {"base", "core"} <= rooms:
        sys.exit(f"layers: {sys.argv[1]} is not the root of the tree")
    findings = check(tree, RULES)
    for finding in findings:
        print(finding)
    print(f"layers: {len(rooms)} rooms, {len(findings)} violations")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
