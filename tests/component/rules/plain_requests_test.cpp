// Tests that plain requests, for which requests.lua makes few functions, do what the general way does;
// knows no client.
// SPDX-License-Identifier: MIT
#include "component/support/script_node.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace redlock::testing;

namespace {

/// The script without its plain cases.
std::string general_way() {
    std::string text(resp::requests().text);
    constexpr std::string_view choice = "local is_plain = true\n";
    const auto at = text.find(choice);
    REQUIRE(at != std::string::npos);
    REQUIRE(text.find(choice, at + 1) == std::string::npos);
    return text.replace(at, choice.size(), "local is_plain = false\n");
}

const std::array<std::string, 3> values = {std::string(22, 'A') + "@a:1",
                                           std::string(22, 'B') + "@a:1", "of another library"};

/// Draws what two nodes keep, and what both are requested to do.
class drawing {
public:
    explicit drawing(std::uint64_t seed) : random_(seed) {}

    bool one_in(std::size_t n) { return below(n) == 0; }

    std::vector<command> state(std::int64_t now_us) {
        std::vector<command> all;
        for (const std::string& key : keys()) {
            if (one_in(2)) all.push_back(some_key(key));
            if (!one_in(4)) all.push_back(some_fence(key + ":F", now_us));
            if (one_in(12)) {
                const std::string until = std::to_string(now_us / 1'000 + 5'000);
                all.push_back({"ZADD", key + ":Q", "1000", "B:1:" + until});
            }
        }
        if (one_in(12)) all.push_back({"SET", "N", std::string(22, 'x') + " and so on"});
        if (one_in(20)) all.push_back({"DEL", "N"});
        if (all.size() > 1 && one_in(20)) {
            all.push_back({"DEL", "N"});
            all.push_back({"RPUSH", "N", "x"});
        }
        return all;
    }

    /// The command that a user of the node may not give; mostly none.
    std::string forbidden() {
        constexpr std::array<std::string_view, 5> some = {"SET", "DEL", "PTTL", "PEXPIRE", "GET"};
        return one_in(12) ? std::string(some[below(some.size())]) : "";
    }

    requests next(std::int64_t now_us) {
        requests all{"N", one_in(12) ? "" : record_epoch, "", "15000000", "120000", {}};
        if (one_in(2)) all.until = std::to_string(one_in(12) ? now_us - 1 : now_us);
        for (std::size_t n = 1 + below(6); n > 0; --n) all.all.push_back(one(now_us));
        return all;
    }

private:
    static const std::array<std::string, 4>& keys() {
        static const std::array<std::string, 4> all = {"K", "L", "M", "O"};
        return all;
    }
    std::size_t below(std::size_t n) { return random_() % n; }

    command some_key(const std::string& key) {
        if (one_in(8)) return {"RPUSH", key, "x"};
        command set{"SET", key, values[one_in(2) ? 0 : below(values.size())]};
        if (!one_in(8)) set.insert(set.end(), {"PX", std::to_string(1 + below(20'000))});
        return set;
    }
    command some_fence(const std::string& key, std::int64_t now_us) {
        if (one_in(16)) return {"RPUSH", key, "x"};
        constexpr std::array<std::string_view, 4> foreign = {"0x10", "9007199254740992", "1e3", ""};
        if (one_in(8)) return {"SET", key, std::string(foreign[below(foreign.size())])};
        return {"SET", key, std::to_string(now_us - 2 + static_cast<std::int64_t>(below(5))), "PX",
                "120000"};
    }
    asked one(std::int64_t now_us) {
        asked out;
        out.key = keys()[below(keys().size())];
        out.fence_key = out.key + ":F";
        out.queue = out.key + ":Q";
        out.value = values[below(2)];
        out.what = std::array{ask::acquire, ask::extend, ask::release}[below(3)];
        if (one_in(16)) out.readers = out.key + ":R";
        if (out.what != ask::release) {
            out.ttl = std::to_string(1'000 * (1 + below(20)));
            const std::int64_t ahead = one_in(8) ? 20'000'000 : 0;
            const auto drawn = static_cast<std::int64_t>(below(5));
            out.fence = std::to_string(now_us - 2 + ahead + drawn);
        }
        out.holds = out.what == ask::extend && one_in(12);
        if (out.what == ask::release) {
            if (one_in(12)) out.is_long = "long";
            if (one_in(12)) out.fence = std::to_string(now_us);
            if (one_in(12)) out.keep = "1500";
            if (one_in(12)) out.note = "60000";
        }
        if (out.what != ask::extend && one_in(3)) {
            out.id = "A:1";
            out.ticket = "1001";
            out.life = one_in(4) ? "2000" : "0";
        }
        return out;
    }

    std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("plain requests answer and write as the general way does") {
    const std::string script(resp::requests().text);
    const std::string general = general_way();
    for (std::uint64_t seed = 1; seed <= 6'000; ++seed) {
        const time_point now{};
        script_node plain(now);
        script_node reference(now);
        drawing drawn(seed);
        const auto before = drawn.state(plain.us(now));
        const std::string forbidden = drawn.forbidden();
        const bool is_full = drawn.one_in(12);
        for (script_node* node : {&plain, &reference}) {
            for (const command& one : before) node->carry_out(one, now);
            if (!forbidden.empty()) node->server.forbid(forbidden);
            node->server.set_out_of_memory(is_full);
        }
        const std::string kept = keys_and_times_of(plain, now);
        const requests what = drawn.next(plain.us(now));
        std::string words;
        for (const asked& one : what.all) {
            for (const auto& word : words_of(one)) words += word + " ";
            words += "(" + one.key + ")\n";
        }
        INFO("seed " << seed << ", not after '" << what.until << "', epoch '" << what.epoch
                     << "', may not " << forbidden << ", memory " << (is_full ? "full" : "free")
                     << ":\n" << words << "before:\n" << kept);
        const model_reply answer = plain.carry_out(script, what, now);
        REQUIRE(to_resp2(answer) == to_resp2(reference.carry_out(general, what, now)));
        REQUIRE(keys_and_times_of(plain, now) == keys_and_times_of(reference, now));
    }
}
