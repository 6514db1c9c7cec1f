"""Reading the tree for the house tests: which files there are, and C++ text without its comments and strings.

A rule is a function from a tree to findings. The same rules run on the real tree and, in selftest.py, on small trees
with a planted violation, so that a rule that has gone blind is noticed.
"""

import dataclasses
import pathlib
import re

CPP_SUFFIXES = {".cpp", ".hpp", ".h", ".c"}
SKIPPED_FOLDERS = {"build", ".deps", ".git", ".cache", "third_party", "__pycache__", "corpus"}


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class Tree:
    """The text files below a folder, as {path relative to it: content}."""

    def __init__(self, files):
        self.files = dict(sorted(files.items()))

    @staticmethod
    def read(root):
        files = {}
        root = pathlib.Path(root)
        for path in root.rglob("*"):
            relative = path.relative_to(root)
            if SKIPPED_FOLDERS & set(relative.parts[:-1]) or not path.is_file():
                continue
            try:
                files[relative.as_posix()] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # no text
        return Tree(files)

    def below(self, *folders, suffixes=CPP_SUFFIXES):
        """(path, content) of the files in `folders` with one of `suffixes`."""
        for path, content in self.files.items():
            if path.split("/")[0] in folders and pathlib.PurePosixPath(path).suffix in suffixes:
                yield path, content


_COMMENT_OR_LITERAL = re.compile(
    r"""
      //(?:[^\n\\]|\\.|\\\n)*                      # comment to the line's end
    | /\*.*?\*/                                    # comment in between
    | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)" # raw string
    | "(?:[^"\\\n]|\\.)*"                          # string
    | (?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'          # character; not the separator in 1'000
    """,
    re.VERBOSE | re.DOTALL,
)


def code_only(content):
    """C++ text in which comments and literals are blank; lines stay where they are."""

    def blank(match):
        text = match.group()
        if text.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", text)
        return '"' + re.sub(r"[^\n]", " ", text[1:-1]) + '"'

    return _COMMENT_OR_LITERAL.sub(blank, content)


def line_of(content, position):
    return content.count("\n", 0, position) + 1


_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_SCOPE_HEAD = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()=]*$")


def functions(content):
    """(first line, last line) of every function defined at namespace or class level."""
    code = code_only(content)
    code = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)
    found = []
    depth_inside = 0  # braces open inside a function or initializer
    inside_from = None  # where its head began; None for an initializer
    head_from = 0
    for match in re.finditer(r"[{};]", code):
        symbol, at = match.group(), match.start()
        if depth_inside > 0:
            depth_inside += {"{": 1, "}": -1, ";": 0}[symbol]
            if depth_inside == 0:
                if inside_from is not None:
                    found.append((line_of(code, inside_from), line_of(code, at)))
                head_from = at + 1
            continue
        head = code[head_from:at]
        if symbol == "{" and not _SCOPE_HEAD.search(head):
            depth_inside = 1
            is_function = "(" in head
            inside_from = head_from + len(head) - len(head.lstrip()) if is_function else None
        else:
            head_from = at + 1
    return found
