// Whole small files, pipes among them, and the bound on their size.
// SPDX-License-Identifier: MIT
#include "config/file.hpp"

#include "tests/support/catch.hpp"

#include <boost/system/errc.hpp>

#include <unistd.h>

#include <string>

using redlock::config::read_file;

TEST_CASE("a pipe is read to its end, but not beyond the limit") {
    for (const std::size_t size : {0U, 1U, 4096U, 5000U, 10'000U}) {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        const std::string text(size, 'x');
        REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(size));
        ::close(ends[1]);
        const auto read = read_file("/proc/self/fd/" + std::to_string(ends[0]), 5000);
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
