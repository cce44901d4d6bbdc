# What the checks of deploy/ have in common: the project's folders, and how one is skipped; knows no file.
# SPDX-License-Identifier: MIT
import pathlib
import re
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = PROJECT / "deploy"
BUILD_S = 500  # ends what hangs; judges no speed
sys.path[:0] = [str(PROJECT / "tests" / folder) for folder in ("integration", "failover", "support")]


def blocks_under(heading, language="bash", page="production"):
    """The blocks in that part of a page of docs/."""
    text = (PROJECT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    part = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", part, re.M | re.S)


def commands_under(heading):
    """The first block of commands in that part of docs/production.md."""
    return blocks_under(heading)[0]


def built_by_go(package, program):
    """Builds a package of the module in api/; says why where Go or its modules can't be had."""
    built = subprocess.run([PROJECT / "tests/support/go-build", PROJECT / "tests/deploy/api", package, program],
                           capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert built.returncode in (0, 77), built.stderr
    return built.stdout.strip()
