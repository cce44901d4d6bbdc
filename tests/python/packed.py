# Makes wheels and the source archive of the Python package, without a network, and uses them from a folder of their own.
# SPDX-License-Identifier: MIT
"""usage: packed.py PACKAGE LIBRARY WORK"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

package, library, work = (pathlib.Path(word).resolve() for word in sys.argv[1:])
# What Debian installs is found by its own interpreter, which need not be the first one in PATH.
OF_SYSTEM = "/usr/bin/python3"
for needed in ("setuptools", "wheel", "pip", "build"):
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


subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
                "--wheel-dir", work / "with", work / "python"], check=True,
               env={**without, "REDLOCK_LIBRARY": str(library)})
(with_library,) = (work / "with").glob("*.whl")
assert "-py3-none-linux_" in with_library.name, with_library.name

# The wheel for all is made of the source archive, as an index' users make it: what that lacks the wheel lacks.
subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", work / "built",
                work / "python"], check=True, env=without, stdout=subprocess.DEVNULL)
(for_all,), (source,) = (work / "built").glob("*.whl"), (work / "built").glob("*.tar.gz")
assert for_all.name.endswith("-py3-none-any.whl"), for_all.name
with tarfile.open(source) as files:
    assert f"{source.name.removesuffix('.tar.gz')}/LICENSE" in files.getnames(), files.getnames()
wheel = zipfile.ZipFile(for_all)
names = wheel.namelist()
assert "redlock_quorum/py.typed" in names, names
# Older setuptools name the license's field otherwise, and its file's folder.
assert any(re.search(r"\.dist-info/(licenses/)?LICENSE$", name) for name in names), names
(metadata,) = (wheel.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
assert re.search(r"(?m)^License(-Expression)?: MIT$", metadata), metadata
for field in ("Homepage", "Source", "Documentation", "Changelog"):
    assert f"Project-URL: {field}, https://" in metadata, metadata

unpacked = work / "unpacked"
zipfile.ZipFile(with_library).extractall(unpacked)
said = subprocess.run([sys.executable, "-c", "import redlock_quorum as redlock\n"
                                             "from redlock_quorum import _native, aio\n"
                                             "print(redlock.__version__, _native.library.path)"],
                      check=True, env={**without, "PYTHONPATH": str(unpacked)}, text=True,
                      stdout=subprocess.PIPE).stdout.split()
assert said[0] in with_library.name, said
assert said[1] == str(unpacked / "redlock_quorum/libredlock_c.so.0"), said
print(with_library.name, for_all.name, source.name)
