# The Conan 2 recipe, of the tree that it lies in; untried: there is no Conan where the project is tested.
# SPDX-License-Identifier: MIT
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class RedlockConan(ConanFile):
    name = "redlock"
    description = "Locks over a quorum of independent Redis or Valkey masters"
    license = "MIT"
    topics = ("redis", "valkey", "lock", "redlock", "distributed")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tls": [True, False], "command": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tls": True, "command": False,
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
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "REDLOCK_BUILD_TESTS": False, "REDLOCK_WITH_TESTING": False,
            "REDLOCK_WITH_TLS": bool(self.options.tls), "REDLOCK_BUILD_TOOLS": bool(self.options.command)})
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["redlock"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("cmake_file_name", "redlock")
        self.cpp_info.set_property("cmake_target_name", "redlock::redlock")
        self.cpp_info.set_property("pkg_config_name", "redlock")
        self.cpp_info.requires = ["boost::headers", "hiredis::hiredis"]
        if self.options.tls:
            self.cpp_info.requires += ["openssl::ssl", "openssl::crypto"]
