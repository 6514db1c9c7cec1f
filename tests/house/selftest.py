"""The house tests, tested: each rule must find what is planted for it, where it is, and pass what is allowed."""

import unittest

import layers
import tidy
from source import Tree, code_only, functions

PARAGRAPH = "// What this file is for, in a line that is long enough.\n"


def found(rule, files):
    """{"path:line"} of a rule's findings in a tree of {path: content}."""
    return {f"{finding.path}:{finding.line}" for finding in rule(Tree(files))}


class CodeOnly(unittest.TestCase):
    def test_blanks_comments_and_literals_and_keeps_lines(self):
        code = code_only(
            'int a; // printf(\n/* x\n y */ const char* b = "printf(\\"";\nchar c = \'"\'; int d = 1\'000;\n'
        )
        self.assertNotIn("printf", code)
        self.assertEqual(code.count("\n"), 4)
        self.assertIn("int d = 1'000;", code)

    def test_blanks_raw_strings(self):
        code = code_only('auto s = R"({"a": "printf("})"; int after;\n')
        self.assertNotIn("printf", code)
        self.assertIn("int after;", code)


class Functions(unittest.TestCase):
    def lengths(self, content):
        return [last - first + 1 for first, last in functions(content)]

    def test_finds_functions_methods_and_tests(self):
        content = (
            "namespace a {\nstruct S : B<int> {\n  int x{0};\n  S() : x{1} {\n  }\n  int f() const {\n    if (x) {\n"
            "    }\n    return x;\n  }\n};\nenum class E : int { a, b };\nint table[] = {1,\n2,\n3};\n"
            "TEST(A, B) {\n  run();\n}\n}  // namespace a\n"
        )
        self.assertEqual([length for length in self.lengths(content) if length > 2], [5, 3])

    def test_counts_the_head(self):
        self.assertEqual(self.lengths("int f(int a,\n      int b)\n    noexcept {\n  return a;\n}\n"), [5])

    def test_braces_in_strings_and_directives_do_not_count(self):
        self.assertEqual(self.lengths('#define A {\nvoid f() {\n  g("}");\n  h(\'{\');\n}\n'), [4])


class Layers(unittest.TestCase):
    def test_rooms(self):
        files = {
            "src/core/a.cpp": '#include "core/b.hpp"\n#include "pool/pool.hpp"\n',
            "src/pool/a.cpp": '#include "core/b.hpp"\n#include "device/device.hpp"\n// #include "cli/verb.hpp"\n',
            "src/replay/a.cpp": '#include "report/table.hpp"\n',
            "src/base/a.cpp": '#include "status.hpp"\n',
            "src/attic/a.cpp": "",
            "cli/main.cpp": '#include "cli/verb.hpp"\n#include "capi/capi.hpp"\n',
            "src/capi/a.cpp": '#include "cistern/cistern.h"\n#include "cli/verb.hpp"\n',
        }
        self.assertEqual(
            found(layers.check_rooms, files),
            {"src/core/a.cpp:2", "src/replay/a.cpp:1", "src/base/a.cpp:1", "src/attic/a.cpp:1", "src/capi/a.cpp:2"},
        )

    def test_public_headers(self):
        content = '#include <vector>\n#include "cistern/cistern.h"\n#include "base/status.hpp"\n'
        files = {"include/cistern/a.hpp": content}
        self.assertEqual(found(layers.check_public_headers, files), {"include/cistern/a.hpp:3"})

    def test_links(self):
        files = {
            "src/core/CMakeLists.txt": "cistern_room(core USES base SOURCES a.cpp)\n",
            "src/base/CMakeLists.txt": "\ncistern_room(base USES pool\n core SOURCES a.cpp)\n",
        }
        self.assertEqual(found(layers.check_links, files), {"src/base/CMakeLists.txt:2"})

    def test_others_libraries(self):
        files = {
            "cli/arguments.cpp": "#include <CLI/App.hpp>\n#include <CLI/Config.hpp>\n",
            "cli/run.cpp": "\n#include <CLI/App.hpp>\n",
            "src/pool/a.cpp": "#include <sys/mman.h>\n#include <vector>\n#include <fmt/core.h>\n#include <zlib.h>\n",
            "src/replay/a.cpp": "#include <nlohmann/json.hpp>\n",
        }
        self.assertEqual(
            found(layers.check_others_libraries, files), {"cli/run.cpp:2", "src/pool/a.cpp:3", "src/pool/a.cpp:4"}
        )
        files = {"src/plan/a.cpp": "#include <CLI/App.hpp>\n"}
        self.assertEqual(found(layers.check_others_libraries, files), {"src/plan/a.cpp:1"})

    def test_platforms(self):
        content = "#ifdef __linux__\n#endif\n#if defined(__x86_64__)\n#elif defined _WIN32\n#endif\n#ifndef NDEBUG\n"
        files = {"src/pool/a.cpp": content, "src/base/a.cpp": content, "src/core/a.cpp": "// #ifdef __linux__\n"}
        self.assertEqual(
            found(layers.check_platforms, files), {"src/pool/a.cpp:1", "src/pool/a.cpp:3", "src/pool/a.cpp:4"}
        )


class Tidy(unittest.TestCase):
    def test_lines(self):
        files = {
            "src/a/b.cpp": "x" * 120 + "\n" + "x" * 121 + "\nend \n\ttab\nlast",
            "docs/a.md": "x" * 500 + "\nend \n",
            "tests/data/a.csv": "end \n\t",
        }
        self.assertEqual(
            found(tidy.check_lines, files),
            {"src/a/b.cpp:2", "src/a/b.cpp:3", "src/a/b.cpp:4", "src/a/b.cpp:5", "docs/a.md:2"},
        )

    def test_lengths(self):
        files = {
            "src/a/fits.cpp": "void f() {\n" + "  g();\n" * 67 + "}\n",
            "src/a/long.cpp": "\nvoid f() {\n" + "  g();\n" * 68 + "}\n",
            "tests/a/big.py": "x\n" * 500,
            "tests/a/fits.py": "x\n" * 499,
        }
        self.assertEqual(found(tidy.check_lengths, files), {"src/a/long.cpp:2", "tests/a/big.py:500"})

    def test_paragraphs(self):
        files = {
            "src/a/good.cpp": PARAGRAPH + "int x;\n",
            "src/a/none.cpp": "#include <x>\n" + PARAGRAPH,
            "src/a/short.cpp": "// Short.\n",
            "src/a/pair.cpp": "int x;\n",
            "src/a/pair.hpp": PARAGRAPH,
            "tests/a.py": "import x\n",
        }
        lacking = {"src/a/none.cpp:1", "src/a/short.cpp:1", "tests/a.py:1"}
        self.assertEqual(found(tidy.check_paragraphs, files), lacking)

    def test_headers(self):
        files = {
            "src/a/a.hpp": PARAGRAPH,
            "src/a/b.hpp": PARAGRAPH + "#pragma once\n",
            "include/c/a.h": "#ifndef A_H\n#define A_H\n#endif\n",
            "include/c/b.h": "#ifndef A_H\n#define B_H\n#endif\n",
        }
        self.assertEqual(found(tidy.check_headers, files), {"src/a/a.hpp:1", "include/c/b.h:1"})

    def test_banned(self):
        content = (
            "printf(x);\nstd::fprintf(f, x);\nstd::snprintf(b, n, x);\nstrcpy(a, b);\nthread.detach();\n"
            "using namespace std;\nassert(true);\n// printf(\nlog(\"printf(\");\nstd::cout << x;\ntable.system(1);\n"
        )
        lines = (1, 2, 4, 5, 6, 7, 10)
        self.assertEqual(found(tidy.check_banned, {"src/a/a.cpp": content}), {f"src/a/a.cpp:{n}" for n in lines})
        files = {"tests/a.cpp": "printf(x);\nEXPECT_TRUE(true);\nTEST(A, DISABLED_b) {}\nEXPECT_TRUE(ok);\n"}
        self.assertEqual(found(tidy.check_banned, files), {"tests/a.cpp:2", "tests/a.cpp:3"})

    def test_finished(self):
        files = {"src/a/a.cpp": "// T" + "ODO later\nint x;\n/* FIX" + "ME */\n", "docs/a.md": "T" + "ODO\n"}
        self.assertEqual(found(tidy.check_finished, files), {"src/a/a.cpp:1", "src/a/a.cpp:3"})

    def test_options(self):
        files = {
            "src/base/option_table.cpp": '{.name = "CISTERN_A"},\n{.name = "CISTERN_B"}\n',
            "docs/reference/options.md": "| Option |\n| `CISTERN_A` | x |\n| `CISTERN_C` | x |\n",
        }
        texts = [str(finding) for finding in tidy.check_options(Tree(files))]
        self.assertEqual(len(texts), 2)
        self.assertIn("CISTERN_B is missing", texts[0])
        self.assertIn("CISTERN_C is no option", texts[1])
        self.assertEqual(found(tidy.check_options, {}), {"src/base/option_table.cpp:1"})


if __name__ == "__main__":
    unittest.main()
