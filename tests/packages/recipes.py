# Does what a recipe says without its package manager, on libraries that a build has; compiles a program alone.
# SPDX-License-Identifier: MIT
"""usage: recipes.py conan | vcpkg | nix | homebrew BUILD FOLDER; in the project's folder

Takes the sources that the recipe takes, configures them as it does, puts in place of what would be
compiled what BUILD has, installs, and compiles a program with the package. Works in FOLDER. Status 77
where a tool is missing."""
import collections
import fnmatch
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
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
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, **options)
    expect(done.returncode == 0, f"{' '.join(map(str, words))} fails:\n{done.stdout}")
    return done.stdout.strip()


def installed(tree, variables, prefix):
    """Configures `tree` as a recipe does, and installs it with what BUILD has compiled."""
    made = WORK / "build"
    said = output("cmake", "-S", tree, "-B", made, "-G", "Ninja", *variables, stderr=subprocess.STDOUT)
    expect("not used by the project" not in said, f"a variable is none of the project's:\n{said}")
    # What is compiled is all there is, where the tree has every source.
    output("cmake", "--build", made, "--target", "generated/scripts.cpp")
    for name in ("libredlock.a", "libredlock_c.so*", "tools/redlock", "tools/said/*"):
        for file in BUILD.glob(name):
            (made / file.relative_to(BUILD)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, made / file.relative_to(BUILD), follow_symlinks=False)
    output("cmake", "--install", made, "--prefix", prefix)
    sources = {str(file.relative_to(tree / "src")) for file in (tree / "src").rglob("*.cpp")}
    missing = {str(file.relative_to("src")) for file in pathlib.Path("src").rglob("*.cpp")} - sources
    expect(not missing, f"the recipe leaves out {sorted(missing)}")


def program_of(*words):
    """Compiles the program of the consumer tests, and runs it."""
    program = WORK / "program"
    output("c++", "-std=c++20", "tests/consumer/program/main.cpp", "-o", program, *words)
    expect(f"redlock {VERSION}" in output(program), "the program did not run as it should")


def by_cmake(prefix):
    """The same, by the CMake package of an installed tree."""
    user = WORK / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(user CXX)\nfind_package(redlock CONFIG REQUIRED)\n"
        f"add_executable(user {pathlib.Path('tests/consumer/program/main.cpp').resolve()})\n"
        "target_link_libraries(user PRIVATE redlock::redlock)\n", encoding="utf-8")
    output("cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    output("cmake", "--build", user / "build")
    expect(f"redlock {VERSION}" in output(user / "build/user"), "the program did not run as it should")


def copied(recipe, pattern, src, dst):
    """Conan's `copy`: a star matches slashes, too."""
    top = pathlib.Path(src)
    for file in [top / pattern] if (top / pattern).is_file() else (top / pattern.split("/")[0]).rglob("*"):
        name = str(file.relative_to(top))
        if file.is_file() and "__pycache__" not in name and fnmatch.fnmatch(name, pattern):
            (pathlib.Path(dst) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, pathlib.Path(dst) / name)


class info:
    """Conan's cpp_info, and each of its components."""

    def __init__(self):
        self.components = collections.defaultdict(info)
        self.properties = {}

    def set_property(self, name, value):
        self.properties[name] = value


LIBRARIES = {"boost::headers": [], "hiredis::hiredis": ["hiredis"], "openssl::ssl": ["ssl"],
             "openssl::crypto": ["crypto"]}


def conan_with(**options):
    toolchain = types.SimpleNamespace(cache_variables={}, generate=lambda: None)
    package = WORK / "package"
    tools = {
        "conan": types.SimpleNamespace(ConanFile=object),
        "conan.errors": types.SimpleNamespace(ConanInvalidConfiguration=Exception),
        "conan.tools": unittest.mock.MagicMock(),
        "conan.tools.build": types.SimpleNamespace(check_min_cppstd=lambda recipe, least: None),
        "conan.tools.cmake": types.SimpleNamespace(
            CMake=lambda recipe: types.SimpleNamespace(install=lambda: installed(WORK / "export", variables, package)),
            CMakeDeps=unittest.mock.MagicMock(), CMakeToolchain=lambda recipe: toolchain, cmake_layout=None),
        "conan.tools.files": types.SimpleNamespace(
            load=lambda recipe, path: pathlib.Path(path).read_text(encoding="utf-8"), copy=copied,
            rmdir=lambda recipe, path: shutil.rmtree(path))}
    with unittest.mock.patch.dict(sys.modules, tools):
        spec = importlib.util.spec_from_file_location("conanfile", PACKAGING / "conan/conanfile.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    recipe = module.RedlockConan()
    recipe.options = types.SimpleNamespace(**{**recipe.default_options, **options})
    recipe.settings = types.SimpleNamespace(os="Linux")
    recipe.recipe_folder = str(PACKAGING / "conan")
    recipe.source_folder = recipe.export_sources_folder = WORK / "export"
    recipe.package_folder = package
    recipe.cpp_info = info()
    recipe.set_version()
    expect(recipe.version == VERSION, f"the recipe's version is {recipe.version}")
    recipe.export_sources()
    recipe.validate()
    recipe.generate()
    variables = [f"-D{name}={'ON' if value else 'OFF'}" for name, value in toolchain.cache_variables.items()]
    variables += [f"-DBUILD_SHARED_LIBS={'ON' if recipe.options.shared else 'OFF'}", "-DCMAKE_INSTALL_LIBDIR=lib"]
    recipe.package()
    recipe.package_info()
    return package, recipe.cpp_info


def conan():
    package, described = conan_with(c=True)
    expect((package / "licenses/LICENSE").exists(), "the package has no license")
    refused = [*package.rglob("*.cmake"), *package.rglob("*.pc"), *package.glob("share/*")]
    expect(not refused, f"Conan Center refuses {refused}")
    packed = {file.name for file in package.glob("lib/*") if not file.is_symlink()}
    stated = {library for part in described.components.values() for library in part.libs}
    expect({re.sub(r"^lib|\.(a|so)\b.*$", "", name) for name in packed} == stated,
           f"packed are {packed}, stated {stated}")
    part = described.components["redlock"]
    expect(part.properties["cmake_target_name"] == "redlock::redlock", "its target has another name")
    needed = [library for one in part.requires for library in LIBRARIES[one]]
    program_of(f"-I{package}/include", f"-L{package}/lib",
               *(f"-l{library}" for library in part.libs + needed + part.system_libs))


# The port's own file, with what it calls of vcpkg: these write what they are given.
PORT = """
cmake_policy(VERSION 3.21)
function(vcpkg_check_features)
endfunction()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    list(JOIN arg_OPTIONS "\\n" options)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/options" "${arg_SOURCE_PATH}\\n${options}\\n")
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
    script = WORK / "port.cmake"
    script.write_text(PORT, encoding="utf-8")
    output("cmake", f"-DPORT={port}", "-P", script, cwd=WORK)
    source, *options = (WORK / "options").read_text(encoding="utf-8").split()
    package = WORK / "package"
    # vcpkg_cmake_configure gives these.
    installed(pathlib.Path(source), [*options, "-DREDLOCK_BUILD_TOOLS=OFF", "-DBUILD_SHARED_LIBS=OFF",
                                     "-DCMAKE_INSTALL_LIBDIR:STRING=lib"], package)
    expect((package / "lib/cmake/redlock/redlock-config.cmake").exists(), "CONFIG_PATH is another folder")
    expect(not [*package.glob("share/*"), *package.glob("bin/*")], "there is more than vcpkg takes")
    by_cmake(package)


def nix():
    needs("nix-instantiate", "nix-bin")
    recipe = PACKAGING / "nix/package.nix"
    places = {f"NIX_{name}_DIR": f"{WORK}/{name}" for name in ("STORE", "STATE", "LOG", "CONF")}
    env = {**os.environ, **places, "HOME": str(WORK), "NIX_CONFIG": "build-users-group ="}
    output("nix-instantiate", "--parse", recipe, env=env)
    arguments = re.search(r"^\{ (.*) \}:$", recipe.read_text(encoding="utf-8"), re.M)[1].split(", ")
    given = " ".join(f"{name} = null;" for name in arguments if name not in ("lib", "stdenv"))
    text = (f"let made = (import {recipe} {{ {given} stdenv.mkDerivation = made: made; lib = {{ cleanSource ="
            " tree: tree; licenses.mit = 1; platforms.linux = 1; }; }); in"
            " { inherit (made) version cmakeFlags; src = toString made.src; }")
    made = json.loads(output("nix-instantiate", "--eval", "--strict", "--readonly-mode", "--json", "-E", text, env=env))
    expect(made["version"] == VERSION, f"the package's version is {made['version']}")
    out = WORK / "out"
    # Nix' hook for CMake gives these before the recipe's own.
    installed(pathlib.Path(made["src"]), [f"-DCMAKE_INSTALL_DOCDIR={out}/share/doc/redlock",
                                          f"-DCMAKE_INSTALL_MANDIR={out}/share/man", *made["cmakeFlags"]], out)
    expect(f"redlock {VERSION}" in output(out / "bin/redlock", "--version"), "the command did not run")
    by_cmake(out)


# The words of a formula that say something of the archive, and what it runs; the rest are taken as they come.
FORMULA = """
class Formula
  def self.url(value) = puts(value)
  def self.sha256(value) = puts(value)
  def self.test = nil
  def self.method_missing(*) = nil
  def std_cmake_args = ["-DCMAKE_INSTALL_LIBDIR=lib", "-DCMAKE_BUILD_TYPE=Release"]
  def system(*words) = puts(words.join(" "))
end
load ARGV[0]
Redlock.new.install
"""


def homebrew():
    needs("ruby", "ruby")
    recipe = PACKAGING / "homebrew/redlock.rb"
    output("ruby", "-c", recipe)
    archive = pathlib.Path(output("scripts/release", "archive", WORK))
    shutil.copy(recipe, WORK)
    url, digest, configures, *rest = output("ruby", "-e", FORMULA, WORK / "redlock.rb").splitlines()
    expect(url == f"file://{archive}", f"the formula names {url}, not {archive}")
    expect(digest == hashlib.sha256(archive.read_bytes()).hexdigest(), "the formula has another sha256")
    output("tar", "-C", WORK, "-xzf", archive)
    begin = "cmake -S . -B build "
    expect(configures.startswith(begin) and rest == ["cmake --build build", "cmake --install build"],
           f"the formula runs {[configures, *rest]}")
    installed(WORK / f"redlock-{VERSION}", configures[len(begin):].split(), WORK / "cellar")
    by_cmake(WORK / "cellar")


KNOWN = {"conan": conan, "vcpkg": vcpkg, "nix": nix, "homebrew": homebrew}
if len(sys.argv) != 4 or sys.argv[1] not in KNOWN:
    sys.exit(__doc__)
BUILD = pathlib.Path(sys.argv[2]).resolve()
WORK = pathlib.Path(sys.argv[3]).resolve() / sys.argv[1]
shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)
sys.dont_write_bytecode = True
KNOWN[sys.argv[1]]()
