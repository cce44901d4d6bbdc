# Runs the blocks in C and Python of the documents, and the lines of Python in a table, each as it stands; knows none.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_LIBRARY=FILE PYTHONPATH=DIR snippets.py PROJECT DOCUMENT..."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

project = pathlib.Path(sys.argv[1])
library = pathlib.Path(os.environ["REDLOCK_LIBRARY"]).resolve()
ran = 0
with tempfile.TemporaryDirectory() as folder:
    for document in sys.argv[2:]:
        text = (project / document).read_text(encoding="utf-8")
        for language, block in re.findall(r"^```(c|python)\n(.*?)^```$", text, re.M | re.S):
            if language == "python" and "redlock_quorum" not in block:
                continue  # tests/snippets runs it
            if language == "c":
                source, program = pathlib.Path(folder, "block.c"), pathlib.Path(folder, "block")
                source.write_text(block, encoding="utf-8")
                subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror",
                                f"-I{project}/include", source, library, f"-Wl,-rpath,{library.parent}",
                                "-o", program], check=True)
                words = [program]
            else:
                words = [sys.executable, "-X", "dev", "-W", "error", "-c", block]
            said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
            assert re.search(r"\d{10}" if "fence" in block else r"\S", said), f"{document}: no fence in: {said}"
            ran += 1
# What a line calls without a name before it is a job of its caller's.
LINE = """
import redlock_quorum as redlock
client = redlock.Client.from_environment()
for name in {jobs}:
    globals()[name] = lambda *words: None
{line}
assert all(lease is not None for lease in [locals().get("turn", client)])
"""
for document in sys.argv[2:]:
    text = (project / document).read_text(encoding="utf-8")
    for table in re.findall(r"^<!-- each line runs -->\n((?:\|.*\n)+)", text, re.M):
        for row in table.splitlines()[2:]:
            line = row.strip("|").split(" | ")[3].strip(" `")
            words = LINE.format(jobs=re.findall(r"(?<![\w.])([a-z]\w*)(?=\()", line), line=line)
            subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", words], check=True)
            ran += 1
print(f"{ran} blocks and lines")
sys.exit(ran == 0)
