# The Homebrew formula; a test does what it says, without Homebrew.
# SPDX-License-Identifier: MIT
#
# It lies beside what `scripts/release archive` writes; in a tap both lines get what was published.
class Redlock < Formula
  desc "Locks over a quorum of independent Redis or Valkey masters"
  url "file://#{File.expand_path("redlock-0.1.0.tar.gz", __dir__)}"
  sha256 File.read(File.expand_path("redlock-0.1.0.tar.gz.sha256", __dir__)).split.first
  license "MIT"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "nlohmann-json" => :build
  depends_on "boost"
  depends_on "hiredis"
  depends_on :linux
  depends_on "openssl@3"

  def install
    system "cmake", "-S", ".", "-B", "build", "-DREDLOCK_BUILD_TESTS=OFF", "-DREDLOCK_WITH_TESTING=OFF",
           "-DREDLOCK_INSTALL_DOCS=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/redlock --version")
  end
end
