# The Conan 2 recipe, of the tree that it lies in; a test does what it says, without Conan.
# SPDX-License-Identifier: MIT
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class RedlockConan(ConanFile):
    name = "redlock"
    description = "Locks over a quorum of independent Redis or Valkey masters"
    license = "MIT"
    topics = ("redis", "valkey", "lock", "redlock", "distributed")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tls": [True, False], "command": [True, False],
               "c": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tls": True, "command": False, "c": False,
                       "boost/*:header_only": True}
    implements = ["auto_shared_fpic"]

    def _tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._tree(), "include", "redlock", "version.hpp"))
        self.version = re.search(r'REDLOCK_VERSION "([0-9.]+)"', text)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "lua/*", "src/*", "tools/*"):
            copy(self, pattern, src=self._tree(), dst=self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.81 <2]", transitive_headers=True)
        self.requires("hiredis/[>=0.14 <2]")
        self.requires("nlohmann_json/[>=3.9 <4]", visible=False)
        if self.options.tls:
            self.requires("openssl/[>=3 <4]")
        if self.options.command:
            self.requires("cli11/[>=2 <3]", visible=False)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("redlock needs Linux")
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "REDLOCK_BUILD_TESTS": False, "REDLOCK_WITH_TESTING": False, "REDLOCK_INSTALL_DOCS": False,
            "REDLOCK_WITH_TLS": bool(self.options.tls), "REDLOCK_BUILD_TOOLS": bool(self.options.command),
            "REDLOCK_WITH_C": bool(self.options.c)})
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # CMakeDeps and PkgConfigDeps write these for each user.
        for folder in ("cmake", "pkgconfig"):
            rmdir(self, os.path.join(self.package_folder, "lib", folder))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "redlock")
        requires = ["hiredis::hiredis"] + (["openssl::ssl", "openssl::crypto"] if self.options.tls else [])
        parts = {"redlock": ["boost::headers"], "c": []} if self.options.c else {"redlock": ["boost::headers"]}
        for name, more in parts.items():
            part = self.cpp_info.components[name]
            file = {"redlock": "redlock", "c": "redlock_c"}[name]
            part.libs = [file]
            part.system_libs = ["pthread"]
            part.requires = more + requires
            part.set_property("cmake_target_name", f"redlock::{name}")
            part.set_property("pkg_config_name", file)
