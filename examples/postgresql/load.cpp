// Buyers of one way beside each other, and what a dead or a stopped one costs.
// SPDX-License-Identifier: MIT
#include "load.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace example {

namespace {

using namespace std::chrono_literals;
using moment = std::chrono::steady_clock::time_point;

constexpr std::int64_t stock_of_rates = 1'000;
constexpr std::int64_t stock_of_faults = 1'000'000;
constexpr auto stopped_for = 5s;

double seconds_between(moment from, moment to) {
    return std::chrono::duration<double>(to - from).count();
}

void put_in_stock(database& in, const std::string& item, std::int64_t pieces) {
    in.run("INSERT INTO stock (item, pieces) VALUES ($1, $2::int)",
           {item, std::to_string(pieces)});
}

void check_stock(database& in, const std::string& item, std::int64_t at_first,
                 std::uint64_t sold) {
    const auto left = in.run("SELECT pieces FROM stock WHERE item = $1", {item}).number(0);
    const auto ordered =
        in.run("SELECT count(*) FROM orders WHERE item = $1", {item}).number(0);
    if (left < 0 || left + ordered != at_first || ordered != static_cast<std::int64_t>(sold)) {
        throw std::runtime_error(item + ": oversold: of " + std::to_string(at_first) + ", " +
                                 std::to_string(ordered) + " ordered, " + std::to_string(sold) +
                                 " sold, " + std::to_string(left) + " left");
    }
}

/// Buys until nothing is left or the caller stops it.
class buyers {
public:
    buyers(const way& by, redlock::blocking_client& locks, const std::string& item,
           std::size_t count, std::chrono::milliseconds between)
        : between_(between) {
        std::vector<std::unique_ptr<buyer>> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(std::unique_ptr<buyer>(
                new buyer{.name = "buyer " + std::to_string(i), .item = item, .locks = &locks}));
        }
        begin_ = std::chrono::steady_clock::now();
        for (auto& one : all) {
            threads_.emplace_back([this, &by, who = std::move(one)] { buy_all(by, *who); });
        }
    }

    /// Returns when all have ended; rethrows what ended one of them.
    void wait() {
        threads_.clear();
        if (failure_) std::rethrow_exception(failure_);
    }
    void end() { enough_ = true; }
    bool are_done() const { return done_ > 0; }
    moment began() const { return begin_; }
    std::uint64_t retries() const { return retries_; }
    std::vector<moment> sales() {
        const std::lock_guard lock(mutex_);
        return sales_;
    }

private:
    void buy_all(const way& by, buyer& who) {
        try {
            for (outcome got{}; !enough_ && got != outcome::sold_out;) {
                got = by.buy(who);
                if (got == outcome::again) ++retries_;
                if (got != outcome::sold) continue;
                {
                    const std::lock_guard lock(mutex_);
                    sales_.push_back(std::chrono::steady_clock::now());
                }
                std::this_thread::sleep_for(between_);
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            failure_ = std::current_exception();
        }
        ++done_;
    }

    const std::chrono::milliseconds between_;
    moment begin_;
    std::atomic<bool> enough_ = false;
    std::atomic<std::uint64_t> retries_ = 0;
    std::atomic<std::size_t> done_ = 0;
    std::mutex mutex_;
    std::vector<moment> sales_;
    std::exception_ptr failure_;
    std::vector<std::jthread> threads_;  // last: they use what stands before
};

/// A process of its own that holds; killed with this object.
class holder {
public:
    holder(const std::string& program, const way& by, const std::string& item, bool stops) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
        const std::string how = stops ? "stop" : "wait";
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::dup2(ends[1], 1);
            ::close(ends[0]);
            ::close(ends[1]);
            ::execl(program.c_str(), program.c_str(), "hold", by.name.c_str(), item.c_str(),
                    how.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(ends[1]);
        words_ = ends[0];
        if (pid_ < 0 || next_line() != "holding") throw std::runtime_error(by.name + ": no holder");
    }
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    ~holder() {
        kill();
        ::close(words_);
    }

    void wait_until_stopped() const {
        int status = 0;
        if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) {
            throw std::runtime_error("the holder does not stop");
        }
    }
    void go_on() const { ::kill(pid_, SIGCONT); }
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    std::string next_line() const {
        std::string line;
        for (char c = 0; ::read(words_, &c, 1) == 1 && c != '\n';) line += c;
        return line;
    }

private:
    pid_t pid_ = 0;
    int words_ = -1;
};

/// The longest time without a sale in a window.
double longest_pause(const std::vector<moment>& sales, moment from, moment to) {
    double longest = 0;
    moment last = from;
    for (const moment sale : sales) {
        if (sale < from || sale > to) continue;
        longest = std::max(longest, seconds_between(last, sale));
        last = sale;
    }
    return std::max(longest, seconds_between(last, to));
}

void await_sale_after(buyers& of, moment when) {
    while (!of.are_done()) {
        const auto sales = of.sales();
        if (!sales.empty() && sales.back() > when) return;
        std::this_thread::sleep_for(5ms);
    }
}

}  // namespace

rate measure_rate(const way& by, redlock::blocking_client& locks, std::size_t count,
                  std::chrono::milliseconds longest) {
    const std::string item = by.name + " of " + std::to_string(count);
    database judge;
    put_in_stock(judge, item, stock_of_rates);
    buyers all(by, locks, item, count, 0ms);
    // On a busy machine some ways sell their first piece late.
    while (!all.are_done() && (std::chrono::steady_clock::now() < all.began() + longest ||
                               all.sales().empty())) {
        std::this_thread::sleep_for(5ms);
    }
    all.end();
    all.wait();
    const auto sales = all.sales();
    if (sales.empty()) throw std::runtime_error(item + ": nothing was sold");
    check_stock(judge, item, stock_of_rates, sales.size());
    return {static_cast<double>(sales.size()) /
                seconds_between(all.began(), *std::max_element(sales.begin(), sales.end())),
            sales.size(), all.retries()};
}

fault measure_faults(const way& by, redlock::blocking_client& locks,
                     const std::string& program) {
    const std::string item = by.name + " with faults";
    database judge;
    put_in_stock(judge, item, stock_of_faults);
    fault got;
    buyers all(by, locks, item, 2, 2ms);
    std::uint64_t sold_late = 0;
    try {
        await_sale_after(all, all.began());
        {
            holder killed(program, by, item, false);
            const moment begin = std::chrono::steady_clock::now();
            killed.kill();
            await_sale_after(all, begin);
            got.killed_s = longest_pause(all.sales(), begin, std::chrono::steady_clock::now());
        }
        holder stopped(program, by, item, true);
        stopped.wait_until_stopped();
        const moment begin = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(stopped_for);
        stopped.go_on();
        std::istringstream said(stopped.next_line());
        said >> got.late >> got.late_fence;
        await_sale_after(all, std::chrono::steady_clock::now());
        got.stopped_s = longest_pause(all.sales(), begin, std::chrono::steady_clock::now());
        sold_late = got.late == "sold" ? 1 : 0;
    } catch (...) {
        all.end();
        throw;
    }
    all.end();
    all.wait();
    check_stock(judge, item, stock_of_faults, all.sales().size() + sold_late);
    got.fence_of_row = static_cast<std::uint64_t>(
        judge.run("SELECT fence FROM stock WHERE item = $1", {item}).number(0));
    return got;
}

void hold(const way& by, redlock::blocking_client& locks, const std::string& item, bool stops) {
    buyer who{.name = "holder", .item = item, .locks = &locks};
    bool has_read = false;
    who.having_read = [&] {
        has_read = true;
        std::cout << "holding" << std::endl;
        if (stops) {
            ::raise(SIGSTOP);
        } else {
            ::pause();
        }
    };
    outcome got = outcome::again;
    while (!has_read) got = by.buy(who);
    std::cout << (got == outcome::sold ? "sold " : "refused ") << who.fence << std::endl;
}

}  // namespace example
