// Text for people: what is escaped, what is cut, how durations read.
// SPDX-License-Identifier: MIT
#include "value/text.hpp"

#include "tests/support/catch.hpp"

using redlock::text::brief;
using redlock::text::printable;
using namespace std::chrono_literals;

TEST_CASE("whole characters stay, everything else is escaped") {
    CHECK(printable("") == "");
    CHECK(printable("a ~") == "a ~");
    CHECK(printable("Zürich 東京 😀") == "Zürich 東京 😀");
    CHECK(printable("\t\r\n") == "\\x09\\x0d\\x0a");
    CHECK(printable("\x80") == "\\x80");
    CHECK(printable("\xff") == "\\xff");
    CHECK(printable("\xc3") == "\\xc3");                       // cut short
    CHECK(printable("\xc3 ") == "\\xc3 ");                     // not continued
    CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");              // overlong
    CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");     // overlong
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");     // a surrogate
    CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
    CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");              // a control character (CSI)
    CHECK(printable("\xe2\x80\xae") == "\\xe2\\x80\\xae");     // turns the direction
    CHECK(printable("\u200e\u061c") == "\\xe2\\x80\\x8e\\xd8\\x9c");  // turn it, too
    CHECK(printable("a\u200b\u00ad\ufeff") ==  // have no width
          "a\\xe2\\x80\\x8b\\xc2\\xad\\xef\\xbb\\xbf");
    CHECK(printable("\xe2\x80\xa8") == "\\xe2\\x80\\xa8");     // ends the line
}

TEST_CASE("what is too long is cut between characters") {
    CHECK(printable("abcdef", 6) == "abcdef");
    CHECK(printable("abcdefg", 6) == "abcdef...");
    CHECK(printable("abü", 3) == "ab...");
    CHECK(printable("abü", 4) == "abü");
}

TEST_CASE("durations are short and carry their unit") {
    CHECK(brief(0us) == "0.0 ms");
    CHECK(brief(400us) == "0.4 ms");
    CHECK(brief(9900us) == "9.9 ms");
    CHECK(brief(9960us) == "10 ms");
    CHECK(brief(430ms) == "430 ms");
    CHECK(brief(999'600us) == "1.0 s");
    CHECK(brief(4200ms) == "4.2 s");
    CHECK(brief(43s) == "43 s");
    CHECK(brief(119s) == "119 s");
    CHECK(brief(5min) == "5 min");
}
