# Looks at a recipe as far as that goes without its package manager; knows nothing of what it builds.
# SPDX-License-Identifier: MIT
"""usage: recipes.py conan | vcpkg | nix | homebrew; in the project's folder. Status 77 where a tool is missing."""
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest.mock

PACKAGING = pathlib.Path("packaging").resolve()
VERSION = subprocess.run(["scripts/release", "version"], check=True, capture_output=True, text=True).stdout.strip()


def needs(tool, package):
    if not shutil.which(tool):
        print(f"skipped: there is no {tool}; scripts/install-deps all installs {package}")
        sys.exit(77)


def expect(holds, what):
    if not holds:
        sys.exit(f"recipes: {what}")


def output(*words, **options):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **options).stdout.strip()


def conan():
    """The recipe finds the version, and each of its patterns names files of the tree."""
    copied = []
    modules = {name: unittest.mock.MagicMock() for name in ("conan.tools", "conan.tools.build", "conan.tools.cmake")}
    modules["conan"] = types.SimpleNamespace(ConanFile=object)
    modules["conan.tools.files"] = types.SimpleNamespace(
        load=lambda recipe, path: pathlib.Path(path).read_text(encoding="utf-8"),
        copy=lambda recipe, pattern, src, dst: copied.append((pattern, src)))
    sys.dont_write_bytecode = True
    with unittest.mock.patch.dict(sys.modules, modules):
        spec = importlib.util.spec_from_file_location("conanfile", PACKAGING / "conan/conanfile.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        recipe = module.RedlockConan()
        recipe.recipe_folder = str(PACKAGING / "conan")
        recipe.export_sources_folder = "nowhere"
        recipe.set_version()
        recipe.export_sources()
    expect(recipe.version == VERSION, f"the recipe's version is {recipe.version}")
    for pattern, source in copied:
        expect(any(pathlib.Path(source).glob(pattern)), f"{pattern} names nothing")


# The port's own file, with what it calls of vcpkg: these look at what they are given.
PORT = """
cmake_policy(VERSION 3.21)
function(vcpkg_check_features)
endfunction()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    file(READ "${arg_SOURCE_PATH}/CMakeLists.txt" text)
    foreach(option IN LISTS arg_OPTIONS)
        string(REGEX MATCH "[A-Z_]+" name "${option}")
        string(REGEX REPLACE "^D" "" name "${name}")
        if(NOT text MATCHES "option\\\\(${name} ")
            message(FATAL_ERROR "there is no option ${name}")
        endif()
    endforeach()
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(READ "${arg_FILE_LIST}" text)
endfunction()
foreach(name IN ITEMS vcpkg_cmake_install vcpkg_cmake_config_fixup vcpkg_fixup_pkgconfig vcpkg_copy_tools)
    cmake_language(EVAL CODE "function(${name})\\nendfunction()")
endforeach()
set(CURRENT_PACKAGES_DIR "${CMAKE_CURRENT_BINARY_DIR}")
include("${PORT}/portfile.cmake")
"""


def vcpkg():
    port = PACKAGING / "vcpkg/redlock"
    manifest = json.loads((port / "vcpkg.json").read_text(encoding="utf-8"))
    expect(manifest["name"] == port.name, "the port's folder has another name than the port")
    words = {d if isinstance(d, str) else d["name"] for d in manifest["dependencies"]}
    included = output("grep", "-rhoE", "#include <boost/[a-z_0-9]+", "include", "src")
    libraries = {line.rpartition("/")[2].replace("_", "-") for line in included.splitlines()}
    for library in {"config" if one == "version" else one for one in libraries}:
        expect(f"boost-{library}" in words, f"the port does not name boost-{library}")
    with tempfile.TemporaryDirectory() as work:
        script = pathlib.Path(work) / "port.cmake"
        script.write_text(PORT, encoding="utf-8")
        output("cmake", f"-DPORT={port}", "-P", script, cwd=work)


def nix():
    needs("nix-instantiate", "nix-bin")
    recipe = PACKAGING / "nix/package.nix"
    with tempfile.TemporaryDirectory() as work:
        places = {f"NIX_{name}_DIR": f"{work}/{name}" for name in ("STORE", "STATE", "LOG", "CONF")}
        env = {**os.environ, **places, "HOME": work, "NIX_CONFIG": "build-users-group ="}
        output("nix-instantiate", "--parse", recipe, env=env)
        arguments = re.search(r"^\{ (.*) \}:$", recipe.read_text(encoding="utf-8"), re.M)[1].split(", ")
        given = " ".join(f"{name} = null;" for name in arguments if name not in ("lib", "stdenv"))
        text = (f"(import {recipe} {{ {given} stdenv.mkDerivation = made: made; lib = {{ cleanSource = tree: tree;"
                " licenses.mit = 1; platforms.linux = 1; }; }).version")
        version = json.loads(output("nix-instantiate", "--eval", "--readonly-mode", "--json", "-E", text, env=env))
    expect(version == VERSION, f"the package's version is {version}")


# The words of a formula that say something of the archive; the rest are taken as they come.
FORMULA = """
class Formula
  def self.url(value) = puts(value)
  def self.sha256(value) = puts(value)
  def self.test = nil
  def self.method_missing(*) = nil
end
load ARGV[0]
"""


def homebrew():
    needs("ruby", "ruby")
    recipe = PACKAGING / "homebrew/redlock.rb"
    output("ruby", "-c", recipe)
    with tempfile.TemporaryDirectory() as work:
        archive = pathlib.Path(output("scripts/release", "archive", work))
        shutil.copy(recipe, work)
        url, digest = output("ruby", "-e", FORMULA, pathlib.Path(work) / "redlock.rb").splitlines()
        expect(url == f"file://{archive}", f"the formula names {url}, not {archive}")
        expect(digest == hashlib.sha256(archive.read_bytes()).hexdigest(), "the formula has another sha256")


KNOWN = {"conan": conan, "vcpkg": vcpkg, "nix": nix, "homebrew": homebrew}
if len(sys.argv) != 2 or sys.argv[1] not in KNOWN:
    sys.exit(__doc__)
KNOWN[sys.argv[1]]()
