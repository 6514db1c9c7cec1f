"""The tool as its users meet it: run as a program, judged by what it prints and how it exits.

Usage: cli_test.py BINARY ROOT
"""

import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import unittest

BINARY = ""
ROOT = pathlib.Path()


def clean_environment(**variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
    return kept | variables


def cistern(*arguments, **variables):
    environment = clean_environment(**variables)
    return subprocess.run(
        [BINARY, *arguments], capture_output=True, text=True, env=environment, timeout=60, check=False
    )


class CommandLine(unittest.TestCase):
    def assert_refused(self, result, code, text):
        """Nothing on stdout, one line on stderr that says `text`, and the exit code."""
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(text, result.stderr)


class Frame(CommandLine):
    def test_version(self):
        result = cistern("--version")
        declared = re.search(r"project\(cistern VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual((result.returncode, result.stdout), (0, f"cistern {declared}\n"))

    def test_no_argument_is_help(self):
        texts = {cistern(*words).stdout for words in ([], ["help"], ["-h"], ["--help"])}
        self.assertEqual(len(texts), 1)
        text = texts.pop()
        self.assertIn("usage: cistern VERB", text)
        self.assertIn("exit codes: 0 ok; 1 something was found", text)
        self.assertIn("\nexamples:\n  cistern run", text)
        self.assertIn("  cistern options --json", text)

    def test_every_verb_has_help_with_examples(self):
        listing = cistern("help").stdout.split("verbs:\n")[1].split("\n\n")[0]
        verbs = [name for name in re.findall(r"^  (\w+) ", listing, re.MULTILINE) if name != "help"]
        self.assertIn("options", verbs)
        for verb in verbs:
            result = cistern(verb, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertTrue(result.stdout.startswith(f"usage: cistern {verb} "), result.stdout)
            self.assertIn("\nexamples:\n  cistern " + verb, result.stdout)
            self.assertEqual(result.stdout, cistern("help", verb).stdout)
            self.assertTrue(all(len(line) <= 100 for line in result.stdout.split("\n")), result.stdout)

    def test_help_works_in_a_broken_environment(self):
        self.assertEqual(cistern("options", "--help", CISTERN_POLICY="nonsense").returncode, 0)
        self.assertEqual(cistern("--version", CISTERN_NOTHING="1").returncode, 0)

    def test_unknown_verbs(self):
        self.assert_refused(cistern("optoins"), 2, "there is no verb 'optoins'; did you mean options?")
        self.assert_refused(cistern("cappuccino"), 2, "there is no verb 'cappuccino'; `cistern help` lists all")
        self.assert_refused(cistern("help", "optoins"), 2, "did you mean options?")
        self.assert_refused(cistern("--verison"), 2, "there is no option '--verison'; did you mean --version?")
        self.assert_refused(cistern(""), 2, "there is no verb ''")

    def test_unknown_options(self):
        self.assert_refused(cistern("options", "--jsn"), 2, "there is no option '--jsn'; did you mean --json?")
        self.assert_refused(cistern("options", "--jsn=1"), 2, "there is no option '--jsn'; did you mean --json?")
        self.assert_refused(cistern("options", "--cappuccino"), 2, "there is no option '--cappuccino'")
        self.assert_refused(cistern("options", "extra"), 2, "nothing is done with 'extra'")
        self.assert_refused(cistern("options", "--policy"), 2, "--policy")

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            streams = {"stdout": full, "stderr": subprocess.PIPE}
            result = subprocess.run(
                [BINARY, "options"], **streams, text=True, env=clean_environment(), timeout=60, check=False
            )
        self.assertEqual(result.returncode, 3)
        self.assertIn("the output could not be written", result.stderr)


class Options(CommandLine):
    def options(self, *arguments, **variables):
        result = cistern("options", "--json", *arguments, **variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {option["name"]: option for option in json.loads(result.stdout)["options"]}

    def test_reference_page_is_up_to_date(self):
        page = (ROOT / "docs/reference/options.md").read_text(encoding="utf-8")
        self.assertEqual(cistern("options", "--markdown").stdout, page)

    def test_values_in_force_and_where_they_came_from(self):
        options = self.options(
            "--policy", "exact_best_fit", ASCEND_MEMORY_POOL_MAX_SIZE="8GiB", CISTERN_POLICY="FIRST_FIT"
        )
        limit, policy, growth = (options["CISTERN_" + name] for name in ("LIMIT_BYTES", "POLICY", "GROWTH"))
        self.assertEqual((limit["value"], limit["origin"]), ("8589934592", "environment: ASCEND_MEMORY_POOL_MAX_SIZE"))
        self.assertEqual((policy["value"], policy["origin"]), ("EXACT_BEST_FIT", "--policy"))
        self.assertEqual((growth["value"], growth["origin"]), ("EXPANDABLE", "default"))
        self.assertEqual(policy["aliases"], ["ASCEND_MEMPOOL_POLICY"])

    def test_text_lists_every_option(self):
        text = cistern("options", CISTERN_LIMIT_BYTES="1.5g").stdout
        for name, option in self.options().items():
            self.assertRegex(text, rf"(?m)^{name} +{option['type']} ")
        self.assertRegex(text, r"(?m)^CISTERN_LIMIT_BYTES .* 1536MiB +environment: CISTERN_LIMIT_BYTES$")

    def test_bad_environment(self):
        self.assert_refused(cistern("options", CISTERN_POLCY="BEST_FIT"), 2, "did you mean CISTERN_POLICY?")
        refused = "ASCEND_GLOBAL_LOG_LEVEL is '7', out of range; valid: 0..4"
        self.assert_refused(cistern("options", ASCEND_GLOBAL_LOG_LEVEL="7"), 2, refused)

    def test_bad_values_on_the_command_line(self):
        self.assert_refused(cistern("options", "--policy", "fast"), 2, "--policy is 'fast'; valid: BEST_FIT|FIRST_FIT")
        self.assert_refused(cistern("options", "--limit-bytes", "-1"), 2, "--limit-bytes")
        self.assert_refused(cistern("options", "--round-bytes=1000"), 2, "--round-bytes is '1000', no power of two")
        self.assert_refused(cistern("options", "--json", "--markdown"), 2, "exclude each other")


class Terminal(unittest.TestCase):
    def test_output_to_a_terminal_has_no_control_characters(self):
        master, slave = pty.openpty()
        result = subprocess.run(
            [BINARY, "options"], stdout=slave, stderr=slave, env=clean_environment(), timeout=60, check=False
        )
        os.close(slave)
        shown = os.read(master, 100000)
        os.close(master)
        self.assertEqual(result.returncode, 0)
        self.assertNotIn(b"\x1b", shown)


if __name__ == "__main__":
    BINARY, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
