# The Nix package, of the tree that it lies in, for callPackage; a test does what it says, without nixpkgs.
# SPDX-License-Identifier: MIT
{ lib, stdenv, cmake, ninja, boost, cli11, hiredis, nlohmann_json, openssl }:

stdenv.mkDerivation {
  pname = "redlock";
  version = builtins.head (builtins.match ''.*REDLOCK_VERSION "([0-9.]+)".*''
    (builtins.readFile ../../include/redlock/version.hpp));
  src = lib.cleanSource ../..;

  nativeBuildInputs = [ cmake ninja ];
  buildInputs = [ cli11 nlohmann_json ];
  # What the static library calls, and what its headers include.
  propagatedBuildInputs = [ boost hiredis openssl ];

  cmakeFlags = [
    "-DREDLOCK_BUILD_TESTS=OFF"
    "-DREDLOCK_WITH_TESTING=OFF"
    "-DREDLOCK_INSTALL_DOCS=OFF"
    # Nix passes absolute folders; the files of the package name theirs from their own place.
    "-DCMAKE_INSTALL_LIBDIR=lib"
    "-DCMAKE_INSTALL_INCLUDEDIR=include"
    "-DCMAKE_INSTALL_BINDIR=bin"
  ];

  meta = {
    description = "Locks over a quorum of independent Redis or Valkey masters";
    license = lib.licenses.mit;
    platforms = lib.platforms.linux;
    mainProgram = "redlock";
  };
}
