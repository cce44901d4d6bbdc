# What pyproject.toml can't say: the project's version, the license as old and new tools name it, a wheel's platforms.
# SPDX-License-Identifier: MIT
"""A wheel has the library inside where REDLOCK_LIBRARY names its file while the wheel is made: it then runs
on machines like this one, with every Python 3. Without, it is for every machine, and finds the library that
the system has."""
import os
import pathlib
import re
import shutil

import setuptools
from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = os.environ.get("REDLOCK_LIBRARY")


def version():
    stated = HERE.parent / "include/redlock/version.hpp"
    if stated.exists():
        return re.search(r'REDLOCK_VERSION "(\S+)"', stated.read_text(encoding="utf-8"))[1]
    return re.search(r"(?m)^Version: (\S+)", (HERE / "PKG-INFO").read_text(encoding="utf-8"))[1]


class WithLibrary(build_py):
    def run(self):
        super().run()
        if LIBRARY:
            shutil.copy(LIBRARY, pathlib.Path(self.build_lib, "redlock_quorum", "libredlock_c.so.0"))


class OfPlatform(Distribution):
    def has_ext_modules(self):
        return bool(LIBRARY)


class EveryPython(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2] if LIBRARY else "any")


# PEP 639, which setuptools has since 77.
LICENSE = {"license_expression" if int(setuptools.__version__.split(".")[0]) >= 77 else "license": "MIT"}

setup(**LICENSE, version=version(), distclass=OfPlatform, cmdclass={"build_py": WithLibrary, "bdist_wheel": EveryPython})
