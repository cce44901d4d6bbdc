// Whole small files, pipes among them, and the bound on their size.
// SPDX-License-Identifier: MIT
#include "value/file.hpp"

#include "tests/support/catch.hpp"

#include <boost/system/errc.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

using redlock::detail::read_file;

TEST_CASE("a pipe is read to its end, but not beyond the limit") {
    for (const std::size_t size : {0U, 1U, 4096U, 5000U, 10'000U}) {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        const std::string text(size, 'x');
        REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(size));
        ::close(ends[1]);
        const auto read = read_file("/dev/fd/" + std::to_string(ends[0]), 5000);
        ::close(ends[0]);
        REQUIRE(read.has_value());
        CHECK(read->size() == std::min<std::size_t>(size, 5001));
    }
}

TEST_CASE("what can't be read is the system's error") {
    CHECK((read_file("/no/such/file", 10).error() ==
           boost::system::errc::no_such_file_or_directory));
    CHECK((read_file("/", 10).error() == boost::system::errc::is_a_directory));
}

TEST_CASE("a secret is a file without its last line's end, or the reason why there is none") {
    const auto path = std::filesystem::temp_directory_path() /
                      ("redlock-secret-" + std::to_string(::getpid()));
    const auto read = [&](const std::string& text) {
        std::ofstream(path, std::ios::trunc) << text;
        return redlock::detail::read_secret(path);
    };
    CHECK(read("pw").text == "pw");
    CHECK(read("pw\r\n").text == "pw");
    CHECK(read("pw \n\n").text == "pw \n");
    CHECK(read(std::string(4096, 'x')).text.size() == 4096);
    CHECK(read(std::string(4097, 'x')).why == "is longer than 4096 bytes");
    CHECK(read("\n").why == "is empty");
    CHECK(redlock::detail::can_be_read_again(path));
    std::filesystem::remove(path);
    CHECK(redlock::detail::read_secret(path).why == "can't be read: No such file or directory");
    CHECK(redlock::detail::read_secret(std::string("a\0b", 3)).why == "is no file name");
    CHECK_FALSE(redlock::detail::can_be_read_again("/dev/null"));
}
