// Widths of texts on a terminal; knows no terminal.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include "tools/columns.hpp"

#include <redlock/detail/printable.hpp>

#include <string>
#include <string_view>

using redlock::tool::fit;
using redlock::tool::width;

TEST_CASE("a text is as wide as a terminal shows it") {
    CHECK(width("") == 0);
    CHECK(width("abc") == 3);
    CHECK(width("Größe") == 5);
    CHECK(width("Gro\xcc\x88\xc3\x9f"
                "e") == 5);  // an o, and a diaeresis that combines with it
    CHECK(width("日本語") == 6);
    CHECK(width("안녕") == 4);
    CHECK(width("\xf0\x9f\x94\x92") == 2);  // a padlock
    CHECK(width("\xff") == 1);
}

TEST_CASE("what fits ends between characters") {
    CHECK(fit("Größe", 3).text == "Grö");
    CHECK(fit("Größe", 3).width == 3);
    CHECK(fit("日本語", 5).text == "日本");
    CHECK(fit("日本語", 5).width == 4);
    CHECK(fit("e\xcc\x81tat", 1).text == "e\xcc\x81");
    CHECK(fit("abc", 0).text.empty());
    CHECK(fit("abc", 3).text == "abc");
    CHECK(fit("", 3).text.empty());
}

TEST_CASE("what fits ends between escapes") {
    CHECK(fit("a\x1b[2J", 4).text == "a");
    CHECK(fit("a\x1b[2J", 5).text == "a\\x1b");
    CHECK(fit("a\x1b[2J", 6).text == "a\\x1b[");
    CHECK(fit("\xff\xff", 7).text == "\\xff");
    CHECK(fit("\xc2\x9b", 7).text.empty());  // one character, two escapes
    CHECK(fit("\xc2\x9b", 8).text == R"(\xc2\x9b)");
}

TEST_CASE("what fits is the beginning of what is printable, and no narrower than it can be") {
    const std::string_view raw =
        "x\xc3\xb6\x1b\xe6\x97\xa5\xff\xc2\x9b\xe2\x80\xae\\x1b\xcc\x88z\xf0\x9f";
    const std::string whole = redlock::detail::printable(raw);
    CHECK(fit(raw, whole.size()).text == whole);
    for (std::size_t columns = 0; columns <= width(whole); ++columns) {
        const auto some = fit(raw, columns);
        INFO(some.text);
        CHECK(some.width == width(some.text));
        CHECK(some.width <= columns);
        CHECK(whole.starts_with(some.text));
    }
}
