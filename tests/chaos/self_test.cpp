// Plants what the judges have to find: a judge that cannot condemn proves nothing.
// SPDX-License-Identifier: MIT
#include "nodes.hpp"
#include "run.hpp"
#include "second_checker.hpp"

#include "judge/checker.hpp"
#include "judge/journal.hpp"

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
using judge::checker;
using judge::entry;
using judge::journal;
using judge::journal_reader;
using judge::part;
using judge::shared_by_nobody;
using judge::violation;

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
    e.asked_at = e.at;
    e.valid_until = at(valid_until);
    e.text = std::move(text);
    return e;
}

entry granted(std::uint64_t section, std::uint64_t fence, int ms, int valid_until) {
    return line(entry::kind::granted, section, fence, ms, valid_until);
}
entry granted(std::uint64_t section, std::uint64_t fence, int ms) {
    return granted(section, fence, ms, ms + 1'000);
}
entry trusted(std::uint64_t section, int ms, int valid_until) {
    return line(entry::kind::trusted, section, 0, ms, valid_until);
}
entry ended(std::uint64_t section, int ms) {
    return line(entry::kind::ended, section, 0, ms, ms + 1'000, "released");
}

entry told(int ms, int valid_until, std::string text = "expired") {
    return line(entry::kind::told, 1, 0, ms, valid_until, std::move(text));
}

// The same of what is no exclusive lock, or is kept for a least time.
entry as_reader(entry e) {
    e.of.what = part::kind::shared;
    return e;
}
entry in_slot(unsigned slot, unsigned of, entry e) {
    e.of = {part::kind::slot, slot, of};
    return e;
}
entry asked(int ms, entry e) {
    e.asked_at = at(ms);
    return e;
}
entry kept(int until, entry e) {
    e.kept_until = at(until);
    return e;
}
entry idle(int from, int until) { return asked(from, line(entry::kind::idle, 0, 0, until, 0)); }

class self_test {
public:
    explicit self_test(std::filesystem::path second_checker)
        : second_checker_(std::move(second_checker)) {}

    int run() {
        histories();
        readers();
        slots();
        least_times();
        several_at_once();
        plain_locks();
        validities();
        losses();
        lines_of_a_file();
        excuses();
        progress();
        company();
        leftovers();
        leftover_readers();
        what_runs_out();
        what_the_dead_leave();
        std::cout << passed_ << " passed, " << failed_ << " failed" << std::endl;
        return failed_ == 0 && passed_ > 0 ? 0 : 1;
    }

private:
    using lines = std::vector<entry>;

    void histories() {
        const lines first{granted(1, 10, 0), ended(1, 100)};
        expect("nothing where sections follow each other", "", first,
               {granted(2, 11, 100), ended(2, 200)});
        expect("nothing where what came first is read last", "",
               {granted(2, 11, 100), ended(2, 200)}, first);
        expect("a planted overlap", "overlap", first, {granted(2, 11, 99), ended(2, 200)});
        expect("an overlap that is read in the wrong order", "overlap",
               {granted(2, 11, 50), ended(2, 60)}, first);
        expect("a planted fence inversion", "fences", first, {granted(2, 9, 150), ended(2, 200)});
        expect("a fence used twice", "fences", first, {granted(2, 10, 150), ended(2, 200)});
        expect("an inversion that is read in the wrong order", "fences",
               {granted(2, 9, 150), ended(2, 200)}, first);
        // Killed inside: kept out until its validity has passed, which a renewal had moved.
        expect("nobody beside the dead", "overlap", {granted(1, 10, 0, 300)},
               {granted(2, 11, 250), ended(2, 260)});
        expect("nobody beside a dead holder that had renewed", "overlap",
               {granted(1, 10, 0, 300), trusted(1, 100, 400)},
               {granted(2, 11, 350), ended(2, 360)});
        expect("somebody after the dead", "", {granted(1, 10, 0, 300)},
               {granted(2, 11, 300), ended(2, 310)});
    }

    // A writer is alone; readers are not, and only writers count for their fences.
    void readers() {
        const auto reader = [](std::uint64_t section, std::uint64_t fence, int ms, int until) {
            return as_reader(granted(section, fence, ms, until));
        };
        const lines first{reader(1, 10, 0, 1'000), ended(1, 100)};
        const lines writer{granted(2, 11, 50), ended(2, 150)};
        expect("nothing where readers are together", "", first,
               {reader(2, 12, 50, 1'000), ended(2, 150)});
        expect("nothing where readers' fences are in any order", "", first,
               {reader(2, 9, 50, 1'000), ended(2, 150)});
        expect("nothing where a writer follows the last of them", "", first,
               {granted(2, 11, 100), ended(2, 150)});
        expect("nothing where readers follow a writer", "", {granted(1, 10, 0), ended(1, 50)},
               {reader(1, 12, 50, 1'000), reader(2, 11, 60, 1'000), ended(1, 70), ended(2, 80)});
        expect("a writer beside a reader", "overlap", first, writer);
        expect("a reader beside a writer", "overlap", writer, first);
        expect("a writer beside the longer of two readers", "overlap",
               {reader(1, 10, 0, 1'000), ended(1, 100)},
               {reader(1, 11, 10, 1'000), ended(1, 20), granted(2, 12, 90), ended(2, 110)});
        expect("the same, read in another order", "overlap",
               {reader(1, 11, 10, 1'000), ended(1, 20), granted(2, 12, 90), ended(2, 110)},
               {reader(1, 10, 0, 1'000), ended(1, 100)});
        expect("a writer beside a dead reader", "overlap", {reader(1, 10, 0, 300)},
               {granted(2, 11, 250), ended(2, 260)});
        expect("a writer after the dead reader", "", {reader(1, 10, 0, 300)},
               {granted(2, 11, 300), ended(2, 310)});
        expect("a writer's fence that is not above a reader's", "fences", first,
               {granted(2, 10, 150), ended(2, 200)});
        expect("a writer's fence that is not above that of an earlier reader", "fences",
               {reader(1, 20, 0, 1'000), ended(1, 10)},
               {reader(1, 10, 20, 1'000), ended(1, 30), granted(2, 15, 40), ended(2, 50)});
        expect("a reader's fence that is not above a writer's", "fences",
               {granted(1, 10, 0), ended(1, 50)}, {reader(1, 10, 60, 1'000), ended(1, 70)});
        expect("the same, read in another order", "fences",
               {reader(1, 10, 60, 1'000), ended(1, 70)}, {granted(1, 10, 0), ended(1, 50)});
    }

    void slots() {
        const auto slot = [](unsigned number, std::uint64_t section, std::uint64_t fence, int ms) {
            return in_slot(number, 2, granted(section, fence, ms));
        };
        const lines first{slot(0, 1, 10, 0), ended(1, 100)};
        expect("nothing where each has a slot of its own", "", first,
               {slot(1, 2, 9, 50), ended(2, 150)});
        expect("nothing where a slot goes from one to the next", "", first,
               {slot(1, 2, 9, 50), slot(0, 3, 11, 100), ended(3, 140), ended(2, 150)});
        expect("nothing where the resource itself is another lock", "", first,
               {granted(2, 9, 50), ended(2, 150)});
        expect("two in one slot", "overlap", first, {slot(0, 2, 11, 50), ended(2, 150)});
        expect("a slot's fence out of order", "fences", first,
               {slot(0, 2, 10, 150), ended(2, 200)});
        expect("a slot that there is not", "that there is not", first,
               {slot(2, 2, 11, 150), ended(2, 200)});
        expect("one more than there are slots", "too many", first,
               {slot(1, 2, 11, 50), slot(2, 3, 12, 60), ended(3, 70), ended(2, 150)});
        // None of them has the slot of another, or one that it does not count.
        expect(
            "one more than the smallest number of slots", "too many", first,
            {slot(1, 2, 11, 50), in_slot(2, 3, granted(3, 12, 60)), ended(3, 70), ended(2, 150)});
        const lines of_two{slot(0, 1, 10, 50), ended(1, 150)};
        expect("a slot beyond the smallest number, read in another order", "too many",
               {in_slot(2, 3, granted(3, 12, 60)), ended(3, 70)}, of_two);
        expect("nothing where it was had before the smallest number was named", "",
               {in_slot(2, 3, granted(3, 12, 40)), ended(3, 140)}, of_two);
        expect("nothing where it was requested before", "",
               {asked(40, in_slot(2, 3, granted(3, 12, 60))), ended(3, 70)}, of_two);
        expect("nothing where nobody names the smallest number any more", "",
               {in_slot(2, 3, granted(3, 12, 150)), ended(3, 170)}, of_two);
        expect("one more beside the dead", "too many", {slot(0, 1, 10, 0), slot(1, 2, 10, 0)},
               {slot(2, 3, 12, 900), ended(3, 950)});
    }

    void least_times() {
        const lines first{kept(200, granted(1, 10, 0)), ended(1, 100)};
        expect("nothing where the next comes when the least time is over", "", first,
               {granted(2, 11, 200), ended(2, 300)});
        expect("one that comes before the least time is over", "not kept", first,
               {granted(2, 11, 199), ended(2, 300)});
        expect("the same, read in another order", "not kept", {granted(2, 11, 199), ended(2, 300)},
               first);
        expect("a reader that comes before a writer's least time is over", "not kept", first,
               {as_reader(granted(2, 11, 150)), ended(2, 300)});
        expect("one that comes before the dead one's least time is over", "not kept",
               {kept(1'500, granted(1, 10, 0))}, {granted(2, 11, 1'200), ended(2, 1'300)});
        expect("one that has a slot before its least time is over", "not kept",
               {in_slot(0, 1, kept(200, granted(1, 10, 0))), ended(1, 100)},
               {in_slot(0, 1, granted(2, 11, 150)), ended(2, 160)});
        expect("nothing where the least time was over before the end", "",
               {kept(50, granted(1, 10, 0)), ended(1, 100)}, {granted(2, 11, 100), ended(2, 200)});
    }

    // Each of them is held as if it were alone.
    void several_at_once() {
        const auto both = [](entry e) {
            e.resource = "q+r";
            return e;
        };
        const lines first{both(granted(1, 10, 0)), both(ended(1, 100))};
        expect("nothing where one of two is held next", "", first,
               {granted(2, 11, 100), ended(2, 200)});
        expect("somebody beside the holder of two", "overlap", first,
               {granted(2, 11, 50), ended(2, 200)});
        expect("two of which one is held", "overlap", {granted(1, 10, 0), ended(1, 100)},
               {both(granted(2, 11, 50)), both(ended(2, 200))});
        expect("two under a fence that is not above that of one", "fences",
               {granted(1, 10, 0), ended(1, 100)},
               {both(granted(2, 10, 150)), both(ended(2, 200))});
    }

    // They have no fences; those of the others around them are compared all the same.
    void plain_locks() {
        const auto between = [](std::uint64_t next) {
            return said({granted(1, 10, 0), ended(1, 50), granted(2, 0, 60), ended(2, 70),
                         granted(3, next, 80), ended(3, 90)});
        };
        note("nothing where a lock without fences is held between two with them",
             between(11).empty());
        note("a fence that is not above that before a lock without fences",
             between(10).find("fences") != std::string::npos);
        note("a lock without fences that overlaps",
             said({granted(1, 10, 0), granted(2, 0, 40), ended(1, 50), ended(2, 60)})
                     .find("overlap") != std::string::npos);
    }

    void validities() {
        const auto is_over = [](const lines& story) {
            return said(story).find("after its validity") != std::string::npos;
        };
        note("nothing where a validity grows",
             said({granted(1, 10, 0, 100), trusted(1, 99, 200), ended(1, 199)}).empty());
        note("nothing where a lease is given up when its validity ends",
             said({granted(1, 10, 0, 100), line(entry::kind::ended, 1, 0, 100, 100)}).empty());
        note("a lease that is over when it is granted", is_over({granted(1, 10, 100, 100)}));
        note("a lease that is trusted when its validity ends",
             is_over({granted(1, 10, 0, 100), trusted(1, 100, 100)}));
        note("a lease that is given up after its validity",
             is_over({granted(1, 10, 0, 100), line(entry::kind::ended, 1, 0, 101, 100)}));
        note("a validity that moves back",
             said({granted(1, 10, 0, 100), trusted(1, 10, 99)}).find("moved back") !=
                 std::string::npos);
    }

    // The holder hears of them in time, where its program can run.
    void losses() {
        const auto is_late = [](const lines& story) {
            return said(story).find("too late") != std::string::npos;
        };
        note("nothing where a loss is reported when the validity ends",
             said({told(100, 100)}).empty());
        note("a loss that is reported later", is_late({told(101, 100)}));
        note("a loss of a lease that is trusted",
             said({told(99, 100, "trusted")}).find("is trusted") != std::string::npos);
        note("nothing where a program hears of its loss soon after it goes on",
             said({idle(1'000, 3'000), told(3'250, 2'000)}).empty());
        note("a program that goes on, and hears of its loss late",
             is_late({idle(1'000, 3'000), told(3'251, 2'000)}));
        note("a program that went on before its validity ended excuses nothing",
             is_late({idle(1'000, 3'000), told(3'100, 3'001)}));
        note("a program that stood still after its validity ended excuses nothing",
             is_late({idle(1'000, 3'000), told(3'000, 999)}));
    }

    void lines_of_a_file() {
        auto e = in_slot(3, 17,
                         asked(7, kept(30, line(entry::kind::granted, 4, 5, 10, 20, "some text"))));
        const auto again = judge::parse(to_line(e).substr(0, to_line(e).size() - 1));
        note("a line that is read as it was written",
             again && to_line(*again) == to_line(e) && again->of.slot == 3 && again->of.of == 17 &&
                 again->kept_until == e.kept_until && again->asked_at == e.asked_at &&
                 again->text == e.text);
        for (const std::string of : {"K3", "K3/", "Z", "R1", "X2/3"}) {
            note("a line of '" + of + "' that is not understood",
                 !judge::parse("G 1 0 r " + of + " owner 1 2 3 4 5 -"));
        }
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

    // What the programs were to do beside each other, and never did.
    void company() {
        const auto said = [](const lines& story) {
            std::string found;
            checker judge([&](const violation& v) { found += v.text; });
            for (const auto& e : story) judge.take(0, "w0.1", e);
            judge.died("w0.1");
            judge.check_progress(1, 1);
            return found;
        };
        const auto reader = [](std::uint64_t section, int ms) {
            return as_reader(granted(section, 10, ms, ms + 50));
        };
        const auto slot = [](unsigned number, std::uint64_t section, int ms) {
            return in_slot(number, 2, granted(section, 10, ms));
        };
        note("readers that met",
             said({reader(1, 0), reader(2, 10), ended(2, 20), ended(1, 30)}).empty());
        note("readers that never met",
             said({reader(1, 0), ended(1, 30), reader(2, 30), ended(2, 40)}).find("readers") !=
                 std::string::npos);
        note("readers that would have met, had one lived",
             said({reader(1, 0), reader(2, 10)}).find("readers") != std::string::npos);
        note("slots that all were held",
             said({slot(0, 1, 0), slot(1, 2, 10), ended(2, 20), ended(1, 30)}).empty());
        note("slots that never all were held",
             said({slot(0, 1, 0), ended(1, 30), slot(1, 2, 30), ended(2, 40)}).find("slots") !=
                 std::string::npos);
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

    void leftover_readers() {
        testing::redis_server server;
        const auto found = [&] { return lock_keys("n", testing::direct(server.port())); };
        testing::direct ask(server.port());
        ask.command({"ZADD", "{r}:slots", "1", "0"});
        ask.command({"ZADD", "{r}:readers", "-10", "base", "1000", "late@w"});
        note("nothing where only what is known of slots and dead readers is left", found().empty());
        ask.set("r", shared_by_nobody);
        const auto alone = found();
        note("a planted key that no reader has",
             alone.size() == 1 && alone[0].value == shared_by_nobody);
        ask.command({"ZADD", "{r}:readers", "9000000000000", "owner@w"});
        const auto shared = found();
        note("a planted leftover reader", shared.size() == 1 && shared[0].value == "owner@w");
    }

    // What may stay on a node although its program lives and rests.
    void what_runs_out() {
        checker judge([](const violation&) {});
        judge.take(0, "w", kept(900, granted(1, 10, 0)));
        judge.take(0, "w", ended(1, 100));
        judge.take(0, "w", granted(2, 11, 900));
        judge.take(0, "w", ended(2, 950));
        judge.take(0, "w", kept(1'900, line(entry::kind::refused, 3, 12, 1'000, 0, "expired")));
        const auto may_remain = [&](int section, int ms) {
            return judge.may_remain("owner" + std::to_string(section) + "@w", at(ms));
        };
        note("a key that is kept for its least time, and runs out",
             may_remain(1, 1'000) && !may_remain(1, 6'000));
        note("a key that was given back must go", !may_remain(2, 1'000));
        note("a key whose lease was over before its program saw it", may_remain(3, 1'500));
    }

    // Its keys run out, wherever they are. What lives gives back what it has.
    void what_the_dead_leave() {
        checker judge([](const violation&) {});
        judge.began("w");
        judge.began("v");
        judge.take(0, "w", kept(900, granted(1, 10, 0)));
        judge.take(0, "w", ended(1, 100));
        judge.died("v");
        const auto may_remain = [&](const std::string& value) {
            return judge.may_remain(value, at(500));
        };
        note("a key of a program that lives must go", !may_remain("owner9@w"));
        note("a key of a program that was killed", may_remain("owner9@v"));
        note("the key that stands for a least time",
             may_remain("owner1@w#kept") && !may_remain("owner2@w#kept"));
        note("a line of waiters", may_remain("a queue"));
        note("a key that is shared, which no reader has, must go", !may_remain(shared_by_nobody));
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

    // The verdict on one program that wrote these lines.
    static std::string said(const lines& story) {
        std::string found;
        checker judge([&](const violation& v) { found += v.text; });
        for (const auto& e : story) judge.take(0, "w0.1", e);
        judge.died("w0.1");
        return found;
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
        note("  which passes over what is not to be judged",
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
