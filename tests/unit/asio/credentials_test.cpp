// The question for a password, and real commands that answer it; knows no node.
// SPDX-License-Identifier: MIT
#include "asio/credentials.hpp"

#include "tests/integration/tool_process.hpp"
#include "tests/support/catch.hpp"

#include <boost/asio/io_context.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// Its strand is whatever thread answers.
class asker final : public detail::wire_owner,
                    public detail::credentials_user,
                    public std::enable_shared_from_this<asker> {
public:
    credentials_request ask() {
        credentials_user& self = *this;
        const auto made = std::make_shared<detail::credentials_question>(
            "n0", clock::now() + 1h, keep_alive(), self, 7);
        asked = made;
        return credentials_request(made);
    }
    std::size_t answers() {
        const std::lock_guard lock(mutex_);
        return all_.size();
    }
    detail::credentials_answer answer() {
        REQUIRE(eventually([&] { return answers() > 0; }));
        const std::lock_guard lock(mutex_);
        return all_.back();
    }

    std::shared_ptr<detail::wire_owner> keep_alive() noexcept override {
        return shared_from_this();
    }
    detail::connection& user_of(std::size_t) override { std::abort(); }
    void end_turn() override {}
    void put(detail::mail& m) noexcept override { m.deliver(); }

    std::weak_ptr<detail::credentials_question> asked;

private:
    void on_credentials(std::uint64_t question, detail::credentials_answer what) override {
        CHECK(question == 7);
        const std::lock_guard lock(mutex_);
        all_.push_back(std::move(what));
    }

    std::mutex mutex_;
    std::vector<detail::credentials_answer> all_;
};

detail::credentials_answer answer_of(const std::vector<std::string>& words) {
    const auto by = std::make_shared<asker>();
    detail::run_password_command(words, by->ask());
    return by->answer();
}

detail::credentials_answer said_by(const std::string& script) {
    return answer_of({"sh", "-c", script});
}

std::size_t own_threads() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

}  // namespace

TEST_CASE("of a request the first answer counts, and one that is let go has failed") {
    const auto by = std::make_shared<asker>();
    std::optional<credentials_request> first = by->ask();
    CHECK(first->node() == "n0");
    CHECK(first->deadline() > clock::now());
    int abandoned = 0;
    const credentials_request copy = *first;
    copy.on_abandoned([&] { ++abandoned; });
    first->answer("token", "ann");
    first->fail("too late");
    by->asked.lock()->abandon();
    CHECK(by->answers() == 1);
    CHECK(by->answer().password == "token");
    CHECK(by->answer().username == "ann");
    CHECK(by->answer().why.empty());
    CHECK(abandoned == 0);

    by->ask().answer("");
    CHECK(by->answer().why == "the password given is empty");
    by->ask().fail("no\nrole");
    CHECK(by->answer().why == "no\\x0arole");
    by->ask();
    CHECK(by->answer().why.find("let its request go") != std::string::npos);
    CHECK(by->answers() == 4);

    const auto late = by->ask();
    late.on_abandoned([&] { ++abandoned; });
    by->asked.lock()->abandon();
    CHECK(abandoned == 1);
    late.on_abandoned([&] { ++abandoned; });
    CHECK(abandoned == 2);
    late.answer("token");
    CHECK(by->answers() == 4);
}

TEST_CASE("the first line that a command writes is the password") {
    CHECK(said_by("printf 'to ken\\nmore\\n'").password == "to ken");
    CHECK(said_by("printf 'token\\r\\n'; echo note >&2").password == "token");
    CHECK(answer_of({"printf", "token"}).password == "token");
    ::setenv("REDLOCK_TEST_TOKEN", "from env", 1);
    CHECK(said_by("echo $REDLOCK_TEST_TOKEN").password == "from env");
    // What goes on without its output is waited for; what it leaves behind is not.
    CHECK(said_by("sleep 60 >/dev/null 2>&1 & echo $!").password.size() > 1);
    CHECK(said_by("echo x; exec >&-; exit 3").why.find("status 3") != std::string::npos);
}

TEST_CASE("a command that fails is named by its first word, its end and what it complained") {
    const auto why_of = [](const detail::credentials_answer& got) {
        CHECK(got.password.empty());
        CHECK(got.why.find("s3cret") == std::string::npos);
        return got.why;
    };
    const std::string contract = ": run it by hand as this user: it has to write the password as "
                                 "its first line, and to end with status 0";
    CHECK(why_of(said_by("echo s3cret; echo 'no role\x1b\nat all' >&2; exit 3")) ==
          "password_command sh exited with status 3, \"no role\\x1b\"" + contract);
    CHECK(why_of(said_by("echo s3cret; kill -9 $$")) ==
          "password_command sh was ended by signal 9" + contract);
    CHECK(why_of(said_by("printf '\\ns3cret\\n'")) ==
          "password_command sh wrote no password" + contract);
    CHECK(why_of(answer_of({"yes", "s3cret"})) ==
          "password_command yes wrote more than 64 KiB" + contract);
    CHECK(why_of(answer_of({"/no/such", "s3cret"})) ==
          "password_command /no/such can't be started: No such file or directory: name a program "
          "that this user may run, by its path or in PATH");
    // A shell that traces what it does.
    CHECK(why_of(answer_of({"sh", "-xc", "echo s3cret; exit 3"})) ==
          "password_command sh exited with status 3" + contract);
    CHECK(why_of(said_by("echo " + std::string(300, 'e') + " >&2; exit 1")).size() < 400);
}

TEST_CASE("a command inherits no descriptor, no blocked signal, and has nothing to read") {
    const int open = ::open("/dev/null", O_RDONLY);  // of a program that is careless
    REQUIRE(open >= 0);
    CHECK(said_by("ls -m /proc/self/fd").password == "0, 1, 2, 3");  // the last one is its own
    ::close(open);
    CHECK(said_by("read line; echo \"got $line\"").password == "got ");
    CHECK(said_by("tr -d '\\t' </proc/self/status | grep SigBlk").password ==
          "SigBlk:0000000000000000");
}

TEST_CASE("a command that nobody waits for any more is killed with all of its group, and reaped") {
    const scratch folder;
    const auto before = own_threads();
    const auto by = std::make_shared<asker>();
    const std::string file = folder / "pid";
    const bool leaves_group = GENERATE(false, true);
    const std::string other = leaves_group ? "setsid sleep 3 & " : "sleep 60 & ";
    detail::run_password_command(
        {"sh", "-c", other + "echo $$ >" + file + ".new; mv " + file + ".new " + file +
                         "; sleep 60"},
        by->ask());
    REQUIRE(eventually([&] { return !read_file(file).empty(); }));
    const pid_t pid = std::stoi(read_file(file));
    CHECK(is_alive(pid));
    by->asked.lock()->abandon();
    CHECK(eventually([&] { return !is_alive(pid) && !is_alive(-pid); }));  // nor is it a zombie
    CHECK(eventually([&] { return own_threads() == before; }));
    CHECK(by->answers() == 0);
}

TEST_CASE("beside a hundred commands that do not end no other is started") {
    const auto by = std::make_shared<asker>();
    std::vector<std::shared_ptr<detail::credentials_question>> all;
    for (int i = 0; i < 100; ++i) {
        const auto request = by->ask();
        all.push_back(by->asked.lock());
        detail::run_password_command({"sleep", "1000"}, request);
    }
    const std::string why = answer_of({"echo", "s3cret"}).why;
    CHECK(why.find("100 earlier runs have not ended") != why.npos);
    for (const auto& one : all) one->abandon();
    all.clear();
    CHECK(eventually([] { return answer_of({"echo", "s3cret"}).password == "s3cret"; }));
}

TEST_CASE("where the program ignores or takes the ends of its children the password counts") {
    ::signal(SIGCHLD, SIG_IGN);
    const auto got = said_by("echo token");
    const auto none = said_by("exit 3");
    ::signal(SIGCHLD, SIG_DFL);
    CHECK(got.password == "token");
    CHECK(none.why.find("wrote no password") != std::string::npos);
}
