// Plants what the checker has to find: a judge who cannot condemn proves nothing.
// SPDX-License-Identifier: MIT
#include "checker.hpp"
#include "journal.hpp"
#include "nodes.hpp"
#include "run.hpp"
#include "second_checker.hpp"

#include <unistd.h>

#include <cstdlib>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace redlock::chaos {
namespace {

using namespace std::chrono_literals;

clock::time_point at(int ms) { return clock::time_point(std::chrono::milliseconds(ms)); }

entry line(entry::kind what, std::uint64_t section, std::uint64_t fence, int ms, int valid_until,
           std::string text = "-") {
    entry e;
    e.what = what;
    e.section = section;
    e.resource = "r";
    e.owner = "owner" + std::to_string(section) + "@w";
    e.fence = fence;
    e.at = at(ms);
    e.valid_until = at(valid_until);
    e.text = std::move(text);
    return e;
}

entry granted(std::uint64_t section, std::uint64_t fence, int ms, int valid_until = 1'000) {
    return line(entry::kind::granted, section, fence, ms, valid_until);
}
entry trusted(std::uint64_t section, int ms, int valid_until) {
    return line(entry::kind::trusted, section, 0, ms, valid_until);
}
entry ended(std::uint64_t section, int ms) {
    return line(entry::kind::ended, section, 0, ms, ms, "released");
}

class self_test {
public:
    explicit self_test(std::filesystem::path second_checker)
        : second_checker_(std::move(second_checker)) {}

    int run() {
        histories();
        excuses();
        progress();
        leftovers();
        std::cout << passed_ << " passed, " << failed_ << " failed" << std::endl;
        return failed_ == 0 && passed_ > 0 ? 0 : 1;
    }

private:
    using lines = std::vector<entry>;

    void histories() {
        const lines first{granted(1, 10, 0), ended(1, 100)};
        expect("nothing where sections follow each other", "", first,
               {granted(2, 11, 100), ended(2, 200)});
        expect("nothing where what came first is told last", "",
               {granted(2, 11, 100), ended(2, 200)}, first);
        expect("a planted overlap", "overlap", first, {granted(2, 11, 99), ended(2, 200)});
        expect("an overlap that is told in the wrong order", "overlap",
               {granted(2, 11, 50), ended(2, 60)}, first);
        expect("a planted fence inversion", "fences", first, {granted(2, 9, 150), ended(2, 200)});
        expect("a fence used twice", "fences", first, {granted(2, 10, 150), ended(2, 200)});
        expect("an inversion that is told in the wrong order", "fences",
               {granted(2, 9, 150), ended(2, 200)}, first);
        // Killed inside: kept out until its validity has passed, which a renewal had moved.
        expect("nobody beside the dead", "overlap", {granted(1, 10, 0, 300)},
               {granted(2, 11, 250), ended(2, 260)});
        expect("nobody beside the dead who had renewed", "overlap",
               {granted(1, 10, 0, 300), trusted(1, 100, 400)},
               {granted(2, 11, 350), ended(2, 360)});
        expect("somebody after the dead", "", {granted(1, 10, 0, 300)},
               {granted(2, 11, 300), ended(2, 310)});
    }

    void progress() {
        std::string found;
        checker judge([&](const violation& v) { found += v.text; });
        judge.take(0, "w0.1", granted(1, 10, 0));
        judge.check_progress(1, 1);
        note("progress of all", found.empty());
        judge.check_progress(2, 1);
        note("a contender without a grant", found.find("worker 1") != found.npos);
    }

    void leftovers() {
        testing::redis_server server;
        testing::direct ask(server.port());
        ask.set("redlock:node", "record");
        ask.set("{r}:fence", "10");
        note("nothing where only fences and records are left",
             lock_keys("n", testing::direct(server.port())).empty());
        ask.set("r", "owner@w");
        const auto found = lock_keys("n", testing::direct(server.port()));
        note("a planted leftover key", found.size() == 1 && found[0].value == "owner@w");
    }

    // While a quorum forgets, what rests on the assumptions is excused; what needs none is not.
    void excuses() {
        const auto judged = [](bool assumptions_held) {
            std::string found;
            checker judge([&](const violation& v) { found += v.text; },
                          [=](clock::time_point) { return assumptions_held; });
            judge.take(0, "w0.1", granted(1, 10, 0));
            judge.take(1, "w1.1", granted(1, 9, 50));
            judge.take(1, "w1.1", ended(1, 60));
            judge.take(0, "w0.1", ended(1, 100));
            judge.take(0, "w0.1", line(entry::kind::broken, 0, 0, 5, 0, "never so"));
            return found;
        };
        note("what is excused while a quorum forgets", judged(false) == "w0.1: never so");
        const auto all = judged(true);
        note("what is not excused otherwise", all.find("overlap") != all.npos &&
                                                  all.find("fences") != all.npos &&
                                                  all.find("never so") != all.npos);
    }

    // What two programs tell, through their files, of whom the first is read first; both are dead.
    void expect(const std::string& what, const std::string& verdict, const lines& one,
                const lines& other) {
        std::string found;
        checker judge([&](const violation& v) { found += v.text; });
        const auto directory = std::filesystem::temp_directory_path() /
                               ("redlock-chaos-self-" + std::to_string(::getpid()));
        std::filesystem::create_directory(directory);
        for (const auto* story : {&one, &other}) {
            const std::string who = story == &one ? "w0.1" : "w1.1";
            const auto path = directory / (who + ".history");
            {
                journal file(path);
                for (const auto& e : *story) file.write(e);
            }
            journal_reader(path).read([&](const entry& e) { judge.take(0, who, e); });
            judge.died(who);
        }
        note(what, verdict.empty() ? found.empty() : found.find(verdict) != found.npos);
        if (!second_checker_.empty()) ask_about(directory, verdict.empty());
        std::filesystem::remove_all(directory);
    }

    void ask_about(const std::filesystem::path& directory, bool is_good) {
        note("  likewise the second checker",
             ask_second_checker(second_checker_, directory) == is_good);
        std::ofstream(directory / "unjudged") << "0 " << at(1'000).time_since_epoch().count();
        note("  who passes over what is not to be judged",
             ask_second_checker(second_checker_, directory));
    }

    void note(const std::string& what, bool is_good) {
        std::cout << (is_good ? "ok      " : "NOT OK  ") << what << '\n';
        ++(is_good ? passed_ : failed_);
    }

    std::filesystem::path second_checker_;
    int passed_ = 0;
    int failed_ = 0;
};

}  // namespace

int run_self_test(const std::filesystem::path& second_checker) {
    return self_test(second_checker).run();
}

}  // namespace redlock::chaos
