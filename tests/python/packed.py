# Makes wheels of the Python package, and uses them from a folder of their own.
# SPDX-License-Identifier: MIT
"""usage: packed.py PACKAGE LIBRARY WORK"""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

package, library, work = (pathlib.Path(word).resolve() for word in sys.argv[1:])
# What Debian installs is found by its own interpreter, which need not be the first one in PATH.
OF_SYSTEM = "/usr/bin/python3"
for needed in ("setuptools", "wheel", "pip"):
    if importlib.util.find_spec(needed) is not None:
        continue
    if pathlib.Path(OF_SYSTEM).exists() and sys.prefix != "/usr":
        os.execv(OF_SYSTEM, [OF_SYSTEM, *sys.argv])
    print(f"skipped: {sys.executable} has no {needed}; scripts/install-deps all installs it for {OF_SYSTEM}")
    sys.exit(77)
shutil.rmtree(work, ignore_errors=True)
# setuptools writes beside what it packs.
shutil.copytree(package, work / "python")
(work / "include/redlock").mkdir(parents=True)
shutil.copy(package.parent / "include/redlock/version.hpp", work / "include/redlock")
without = {name: value for name, value in os.environ.items()
           if name not in ("REDLOCK_LIBRARY", "PYTHONPATH", "LD_LIBRARY_PATH")}


def made(**more):
    """The one wheel that is made."""
    folder = work / ("with" if more else "without")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index",
                    "--no-build-isolation", "--wheel-dir", folder, work / "python"],
                   check=True, env={**without, **more})
    (wheel,) = folder.glob("*.whl")
    return wheel


with_library = made(REDLOCK_LIBRARY=str(library))
assert "-py3-none-linux_" in with_library.name, with_library.name
for_all = made()
assert for_all.name.endswith("-py3-none-any.whl"), for_all.name
assert "redlock_quorum/py.typed" in zipfile.ZipFile(for_all).namelist()

unpacked = work / "unpacked"
zipfile.ZipFile(with_library).extractall(unpacked)
said = subprocess.run([sys.executable, "-c", "import redlock_quorum as redlock\n"
                                             "from redlock_quorum import _native, aio\n"
                                             "print(redlock.__version__, _native.library.path)"],
                      check=True, env={**without, "PYTHONPATH": str(unpacked)}, text=True,
                      stdout=subprocess.PIPE).stdout.split()
assert said[0] in with_library.name, said
assert said[1] == str(unpacked / "redlock_quorum/libredlock_c.so.0"), said
print(with_library.name, for_all.name)
