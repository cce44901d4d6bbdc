# Runs the blocks in C and Python of the documents, each as it stands; knows none of them.
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
            assert re.search(r"\d{10}", said), f"{document}: no fence in: {said}"
            ran += 1
print(f"{ran} blocks")
sys.exit(ran == 0)
