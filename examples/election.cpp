// Three processes of which one leads: each is restarted, a leader is killed, and no two lead at
// once.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/clock.hpp>
#include <redlock/election.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using time_point = redlock::clock::time_point;  // of this machine, the same in all processes

constexpr auto ttl = 2s;

// Each line is appended in one piece: what happened, the process, the fence and the time.
void note(const std::string& journal, const char* what, pid_t who, std::uint64_t fence,
          time_point when) {
    std::ostringstream line;
    line << what << ' ' << who << ' ' << fence << ' ' << when.time_since_epoch().count() << '\n';
    const int file = ::open(journal.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string text = line.str();
    if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(1);
    ::close(file);
}

void wait_for_stop(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, stop, [] { return false; });
}

// What a service does: leads when it is its turn, until a signal ends it.
void serve(const redlock::client_options& options, const std::string& journal) {
    redlock::blocking_client client(options);
    redlock::election election(client, "example:leader", {.ttl = ttl});
    std::jthread leading([&](const std::stop_token& stop) {
        const auto outcome = election.lead(
            [&](const redlock::lease& office, const std::stop_token& ends) {
                note(journal, "elected", ::getpid(), office.fence(), redlock::clock::now());
                wait_for_stop(ends);  // here a leader does its work, and sends the fence with it
                const auto end = std::min(redlock::clock::now(), office.valid_until());
                note(journal, "ended", ::getpid(), office.fence(), end);
            },
            {}, stop);
        if (!outcome) std::cerr << outcome.error().message() << '\n';
    });
    sigset_t terminate;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    int signal = 0;
    ::sigwait(&terminate, &signal);
}  // the destructor of the thread requests the stop: a leader resigns

pid_t start(const redlock::client_options& options, const std::string& journal) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve(options, journal);
    ::_exit(0);
}

void end(pid_t who, int signal) {
    ::kill(who, signal);
    ::waitpid(who, nullptr, 0);
}

struct term {
    pid_t leader{};
    std::uint64_t fence{};
    time_point begin;
    time_point end = time_point::max();
    bool was_killed = false;
};

std::vector<term> read(const std::string& journal) {
    std::vector<term> terms;
    std::ifstream file(journal);
    std::string what;
    pid_t who{};
    std::uint64_t fence{};
    redlock::clock::rep count{};
    while (file >> what >> who >> fence >> count) {
        const time_point when{redlock::clock::duration(count)};
        if (what == "elected") terms.push_back({who, fence, when});
        for (term& t : terms) {
            const bool is_end = what == "ended" ? t.fence == fence : t.leader == who;
            if (what == "elected" || !is_end || t.end != time_point::max()) continue;
            t.end = when;
            t.was_killed = what == "killed";
        }
    }
    std::sort(terms.begin(), terms.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    return terms;
}

// Waits until a term has begun that is not over.
pid_t await_leader(const std::string& journal) {
    const auto limit = redlock::clock::now() + 60s;
    while (redlock::clock::now() < limit) {
        const auto terms = read(journal);
        if (!terms.empty() && terms.back().end == time_point::max()) return terms.back().leader;
        std::this_thread::sleep_for(20ms);
    }
    std::exit(example::check(false, "somebody leads"));
}

// Whether no two led at once, by fences and by time; prints for how long nobody led.
bool judge(const std::vector<term>& terms) {
    bool is_orderly = true;
    for (std::size_t i = 1; i < terms.size(); ++i) {
        const term& last = terms[i - 1];
        is_orderly = is_orderly && last.fence < terms[i].fence && last.end <= terms[i].begin;
        const std::chrono::duration<double, std::milli> gap = terms[i].begin - last.end;
        std::printf("%s: nobody led for %.1f ms\n",
                    last.was_killed ? "a leader was killed" : "a leader resigned", gap.count());
    }
    return is_orderly;
}

}  // namespace

int main(int argc, char** argv) {
    const redlock::client_options options = example::options(argc, argv);
    std::string folder = (std::filesystem::temp_directory_path() / "election-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return 1;
    const std::string journal = folder + "/journal";
    sigset_t terminate;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &terminate, nullptr);  // the processes take it by sigwait

    std::array<pid_t, 3> all{};
    for (pid_t& one : all) one = start(options, journal);
    await_leader(journal);
    for (pid_t& one : all) {  // a rolling restart
        end(one, SIGTERM);
        one = start(options, journal);
        await_leader(journal);
    }
    const pid_t leader = await_leader(journal);
    std::this_thread::sleep_for(500ms);  // the others stand in the queue by now
    const auto killed_at = redlock::clock::now();
    end(leader, SIGKILL);
    note(journal, "killed", leader, 0, killed_at);
    await_leader(journal);
    for (const pid_t one : all) {
        if (one != leader) end(one, SIGTERM);
    }
    const auto terms = read(journal);
    std::filesystem::remove_all(folder);
    std::cout << terms.size() << " terms\n";
    return example::check(judge(terms) && terms.size() > 2, "each led alone, and fences rose");
}
