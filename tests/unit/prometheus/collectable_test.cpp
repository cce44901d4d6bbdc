// What prometheus-cpp collects: the same metrics, with the same values, as the text has.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <redlock/prometheus.hpp>

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

// How a number is written is not compared.
std::string plain_number(const std::string& text) {
    if (text == "+Inf") return text;
    std::ostringstream out;
    out.precision(12);
    out << std::stod(text);
    return out.str();
}

struct exposition {
    std::set<std::string> descriptions{};         // the lines of # HELP and # TYPE
    std::map<std::string, std::string> values{};  // by name and labels
};

exposition read_exposition(const std::string& text) {
    exposition out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        if (line == "# EOF") continue;
        if (line[0] == '#') {
            CHECK(out.descriptions.insert(line).second);
            continue;
        }
        const auto blank = line.rfind(' ');
        std::string series = line.substr(0, blank);
        if (const auto le = series.find("le=\""); le != series.npos) {
            const auto from = le + 4, to = series.find('"', from);
            series.replace(from, to - from, plain_number(series.substr(from, to - from)));
        }
        CHECK(out.values.emplace(series, plain_number(line.substr(blank + 1))).second);
    }
    return out;
}

// Another value in each field, so that no two can be mistaken for each other.
client_stats distinct_stats() {
    client_stats s;
    std::uint64_t n = 100;
    for (std::uint64_t* field :
         {&s.granted,      &s.contended,    &s.no_quorum,        &s.validity_exhausted,
          &s.cancelled,    &s.retries,      &s.second_rounds,    &s.released,
          &s.lost,         &s.renewals,     &s.renewal_failures, &s.leases,
          &s.waiting,      &s.commands,     &s.writes,           &s.reads,
          &s.timeouts,     &s.late_replies, &s.connects,         &s.disconnects,
          &s.owed_releases}) {
        *field = ++n;
    }
    s.nodes = {{"10.0.0.1:6379", {}, 4}, {"a\"b\\c\nd", {}, 0}};
    for (histogram* of : {&s.wait, &s.hold, &s.renewal, &s.remaining, &s.nodes[0].round_trip,
                          &s.nodes[1].round_trip}) {
        for (auto& count : of->counts) count = ++n;
        of->sum = std::chrono::microseconds(n * 1'001);
    }
    return s;
}

}  // namespace

TEST_CASE("prometheus-cpp collects what the text says", "[metrics]") {
    const client_stats s = distinct_stats();
    const auto made = collectable([&] { return s; });
    const exposition theirs = read_exposition(prometheus::TextSerializer().Serialize(made->Collect()));
    const exposition ours = read_exposition(open_metrics(s));
    CHECK(theirs.values.size() > 150);
    CHECK(theirs.descriptions == ours.descriptions);
    CHECK(theirs.values == ours.values);
}

TEST_CASE("each collection reads the counters again", "[metrics]") {
    client_stats s;
    const auto made = collectable([&] { return s; });
    const auto granted = [&] { return made->Collect().front().metric.front().counter.value; };
    CHECK(granted() == 0);
    s.granted = 3;
    CHECK(granted() == 3);
}
