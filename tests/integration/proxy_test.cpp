// Every operation on real servers behind proxies that delay, cut, stall, throttle and vanish.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/hostile_proxy.hpp"
#include "support/memory.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

constexpr std::size_t size = 3;
constexpr std::size_t quorum = 2;
constexpr auto node_timeout = 400ms;
constexpr auto connect_timeout = 1'000ms;
constexpr auto slack = 1'500ms;  // for a machine that others use, too

enum class expected { success, failure, either };

// What an operation is done with: three real servers, each behind its proxy, and a client. Used by
// one thread; the servers are shared.
class stage {
public:
    stage(cluster& nodes, bool fencing) : fencing_(fencing) {
        direct_.cluster = nodes.options().cluster;
        for (std::size_t i = 0; i < size; ++i) {
            proxies.push_back(std::make_unique<hostile_proxy>(nodes[i].port()));
            ask.emplace_back(nodes[i].port(), std::string(), patience);
            direct_.nodes.push_back(nodes[i].node());
        }
        direct_.fencing = fencing;
        direct_.node_timeout = 2s;
    }

    // A client that has suffered nothing yet, and a resource that nobody has used.
    void begin() {
        client_options options;
        options.cluster = direct_.cluster;
        for (std::size_t i = 0; i < size; ++i) {
            options.nodes.push_back(proxies[i]->node("n" + std::to_string(i)));
        }
        options.fencing = fencing_;
        options.node_timeout = node_timeout;
        options.connect_timeout = connect_timeout;
        d.emplace(options);
        static std::atomic<int> number = 0;
        resource = "proxy:" + std::to_string(++number);
    }
    // All is well again, and nothing stays behind; else what does.
    std::string end() {
        for (auto& p : proxies) p->heal();
        if (other) d_of_others().release(std::move(other));
        if (held) d->release(std::move(held));
        std::string wrong;
        if (!clean(10s)) wrong = "something is left";
        d.reset();
        return wrong;
    }
    bool clean(std::chrono::milliseconds limit) {
        const auto is_clean = [this] {
            return std::all_of(ask.begin(), ask.end(), [this](direct& a) {
                return !a.exists(resource) && !a.exists("{" + resource + "}:queue");
            });
        };
        return d->until(is_clean, limit);
    }

    // A lease that nothing renews.
    void take() {
        held = std::move(d->acquire(resource, {.ttl = 20s, .wait = 5s, .renew = false}).value());
        if (!held) throw std::runtime_error("not granted while all was well");
        await_everywhere();
    }
    void take_by_other() {
        other = std::move(d_of_others().acquire(resource, {.ttl = 20s, .wait = 5s}).value());
        await_everywhere();
    }
    void await_everywhere() {
        d->until([this] {
            return std::all_of(ask.begin(), ask.end(),
                               [this](direct& a) { return a.exists(resource); });
        });
    }
    // On how many servers the key is the client's.
    std::size_t keys_of(const lease& l) {
        return static_cast<std::size_t>(std::count_if(ask.begin(), ask.end(), [&](direct& a) {
            return a.get(resource).value_or("").starts_with(l.owner().to_string());
        }));
    }
    // A client that no proxy is in the way of.
    driver& d_of_others() {
        if (!others_) others_.emplace(direct_);
        return *others_;
    }

    bool is_fenced() const { return fencing_; }
    // Whether something is true of each node that no harm is done to.
    template <class Predicate>
    bool true_elsewhere(Predicate is_good) const {
        for (std::size_t i = 0; i < size; ++i) {
            if (std::count(harmed.begin(), harmed.end(), i) == 0 && !is_good(i)) return false;
        }
        return true;
    }

    // Whether a connection has never ended.
    bool stands(const std::string& node) const {
        const auto events = d->log().all();
        return std::none_of(events.begin(), events.end(), [&](const seen_event& e) {
            return e.kind == event_kind::node_down && e.node == node;
        });
    }

    std::vector<std::unique_ptr<hostile_proxy>> proxies;
    std::vector<direct> ask;
    std::optional<driver> d;
    std::string resource;
    lease held;
    lease other;
    std::vector<std::size_t> harmed;  // the nodes

private:
    bool fencing_;
    client_options direct_;
    std::optional<driver> others_;
};

// What the table's rows are made of. `act` says what was wrong, and nothing where nothing was.
struct operation {
    std::string name;
    std::function<void(stage&)> prepare;
    std::function<std::string(stage&, expected)> act;
    std::chrono::milliseconds limit{node_timeout};  // what the documents give it
    // By itself, so that one cut is no failure.
    bool tries_again = false;
    // It says itself what is right.
    bool ends_anyhow = false;
    // It is done once more where the nodes have forgotten them.
    bool needs_scripts = false;
    bool is_fenced_only = false;
    // The harm is done to the connections that subscribe.
    bool listeners = false;
    // So many bytes apart are the cuts.
    std::size_t every = 1;
};

std::string judge(expected e, error_code error, errc failure) {
    const bool ok = error == error_code{};
    if (e == expected::success && !ok) return "failed: " + error.message();
    if (e == expected::failure && ok) return "succeeded where it was to fail";
    if (!ok && error != failure) return "failed for another reason: " + error.message();
    return {};
}

std::string judge_grant(stage& s, expected e, driver::granted got) {
    const bool ok = got.error() == error_code{};
    auto wrong = judge(e, got.error(), errc::no_quorum);
    s.held = std::move(got.value());
    if (ok != static_cast<bool>(s.held)) return "an error with a lease, or neither";
    if (s.held && s.keys_of(s.held) < quorum) return "granted without a quorum";
    if (!wrong.empty() && !ok) wrong += "\n" + text_of(s.held);
    return wrong;
}

std::string acquire(stage& s, expected e) {
    return judge_grant(s, e, s.d->acquire(s.resource, {.ttl = 20s, .renew = false}));
}

std::string second_round(stage& s, expected e) {
    auto wrong = acquire(s, e);
    if (s.held && s.d->client().stats().second_rounds != 1) return "it took one round";
    return wrong;
}

// A fence that somebody has drawn whose clock is before the nodes'.
void raise_fences(stage& s) {
    for (auto& a : s.ask) {
        const auto now = std::stoll(a.command({"TIME"}).items[0].text) * 1'000'000;
        a.command(
            {"SET", "{" + s.resource + "}:fence", std::to_string(now + 5'000'000), "PX", "60000"});
    }
}

std::string extend(stage& s, expected e) {
    const auto error = s.d->extend(s.held, 50s);
    if (!s.held) return "the lease is lost";
    if (error == error_code{} && std::count_if(s.ask.begin(), s.ask.end(), [&](direct& a) {
                                     return a.pttl(s.resource) > 40s;
                                 }) < static_cast<long>(quorum)) {
        return "extended without a quorum";
    }
    if ((error == error_code{}) != (s.held.remaining() > 40s)) return "another end than promised";
    return judge(e, error, errc::no_quorum);
}

std::string release(stage& s, expected e) {
    return judge(e, s.d->release(std::move(s.held)), errc::no_quorum);
}

std::string inspect(stage& s, expected e) {
    const auto got = s.d->inspect(s.resource);
    if (got.error()) return got.error().message();
    const auto& state = got.value();
    if (state.decided != state.held) return "decided, and wrong";
    if (e == expected::success && !state.decided) return "not decided";
    if (e == expected::failure && state.decided) return "decided without a quorum";
    return {};
}

void take_for_a_while(stage& s) {
    s.held = std::move(s.d->acquire(s.resource, {.ttl = 1'500ms, .wait = 5s}).value());
    s.await_everywhere();
}

std::string renew(stage& s, expected e) {
    const auto lost = s.d->start_lost(s.held);
    const auto before = s.d->client().stats().renewals;
    s.d->until([&] { return lost.done() || s.d->client().stats().renewals >= before + 2; });
    if (!lost.done()) return e == expected::failure ? "renewed without a quorum" : "";
    if (lost.when() > s.held.valid_until() + slack) return "the loss was reported late";
    return e == expected::success ? "lost" : "";
}

// Somebody else gives the resource back while it is waited for; the harm lasts a moment longer.
std::string wait(stage& s, expected) {
    auto waiting = s.d->start_acquire(s.resource, {.ttl = 20s, .wait = 15s, .renew = false});
    // With a listener that stands still there is no entry, and with a plain lock no queue.
    s.d->until(
        [&] {
            return !s.is_fenced() || s.true_elsewhere([&](std::size_t i) {
                return s.ask[i].exists("{" + s.resource + "}:queue");
            });
        },
        1s);
    s.d_of_others().release(std::move(s.other));
    if (s.harmed.size() >= quorum) {
        s.d->pass(node_timeout);
        for (auto& p : s.proxies) p->heal();
    }
    return judge_grant(s, expected::success, s.d->finish(waiting));
}

std::string give_up_waiting(stage& s, expected) {
    const auto got = s.d->acquire(s.resource, {.ttl = 20s, .wait = 300ms});
    s.d_of_others().release(std::move(s.other));
    // Two nodes that nothing is done to say that it is held. Of one alone it is not enough: the
    // harm to others decides, and whether there was time for a new connection.
    if (got.error() == errc::contended) return {};
    if (got.error() == errc::no_quorum && s.harmed.size() >= quorum) return {};
    return "ended as " + got.error().message();
}

std::string call_off(stage& s, expected) {
    auto trying = s.d->start_acquire(s.resource, {.ttl = 20s});
    s.d->until([&] { return s.d->client().stats().commands > 0; }, 1ms);
    trying.cancel();
    s.d->finish(trying);
    // How far it comes in a millisecond, the machine decides.
    if (trying.error() == error_code{}) return judge_grant(s, expected::success, trying);
    if (trying.error() == asio::error::operation_aborted) return {};
    return judge(expected::failure, trying.error(), errc::no_quorum);
}

// Where it was harmed the key may stay until it runs out: nobody is left to come back.
std::string close(stage& s, expected) {
    s.d->destroy_client();
    const auto limit = clock::now() + patience;
    if (s.d->context().stopped()) s.d->context().restart();
    s.d->context().run_for(patience);
    if (clock::now() >= limit) return "the close does not end";
    if (s.held) return "the lease has outlived its client";
    for (const auto i : s.harmed) s.ask[i].del(s.resource);
    return {};
}

// New connections, of which the first are harmed in their greeting.
std::string reconnect(stage& s, expected) {
    for (const auto i : s.harmed) s.proxies[i]->cut();
    for (const auto i : s.harmed) s.d->await_down("n" + std::to_string(i));
    // Of a quorum, whether new connections stand in time decides.
    const auto e = s.harmed.size() < quorum ? expected::success : expected::either;
    auto wrong = acquire(s, e);
    if (s.held) s.d->release(std::move(s.held));
    const auto all_up = [&] { return s.d->log().nodes_up() == size; };
    if (!s.d->until(all_up, connect_timeout)) {
        for (auto& p : s.proxies) p->heal();
    }
    s.d->await_up(size);
    if (!wrong.empty()) return wrong;
    return judge_grant(s, expected::success,
                       s.d->acquire(s.resource, {.ttl = 20s, .wait = 5s, .renew = false}));
}

std::vector<operation> operations() {
    const auto nothing = [](stage&) {};
    const auto take = [](stage& s) { s.take(); };
    const auto take_by_other = [](stage& s) { s.take_by_other(); };
    return {
        {.name = "acquire", .prepare = nothing, .act = acquire},
        {.name = "second round",
         .prepare = raise_fences,
         .act = second_round,
         .limit = 2 * node_timeout,
         .needs_scripts = true,
         .is_fenced_only = true},
        {.name = "release", .prepare = take, .act = release, .needs_scripts = true},
        {.name = "extend", .prepare = take, .act = extend, .needs_scripts = true},
        {.name = "inspect", .prepare = take, .act = inspect},
        {.name = "renewal",
         .prepare = take_for_a_while,
         .act = renew,
         .limit = 2s,
         .tries_again = true,
         .every = 8},
        {.name = "wait",
         .prepare = take_by_other,
         .act = wait,
         .limit = 5s,
         .ends_anyhow = true,
         .every = 17},
        {.name = "wake-up",
         .prepare = take_by_other,
         .act = wait,
         .limit = 5s,
         .ends_anyhow = true,
         .is_fenced_only = true,
         .listeners = true,
         .every = 17},
        {.name = "deadline",
         .prepare = take_by_other,
         .act = give_up_waiting,
         .limit = 300ms + node_timeout,
         .ends_anyhow = true,
         .every = 29},
        {.name = "cancellation", .prepare = nothing, .act = call_off, .ends_anyhow = true},
        {.name = "close", .prepare = take, .act = close, .ends_anyhow = true},
        {.name = "greeting",
         .prepare = nothing,
         .act = reconnect,
         .limit = 3 * connect_timeout,
         .ends_anyhow = true,
         .every = 197},
    };
}

// The same where the nodes have forgotten the scripts.
operation after_a_flush(operation of) {
    of.name += ", scripts flushed";
    of.prepare = [prepare = of.prepare](stage& s) {
        prepare(s);
        for (auto& a : s.ask) a.script_flush();
    };
    return of;
}

struct window {
    std::size_t requests = 0;
    std::size_t replies = 0;
};

expected outlook(const operation& op, const harm& h, std::size_t hit, const window& all) {
    using kind = harm::kind;
    const bool is_sudden = h.what == kind::cut || h.what == kind::stall || h.what == kind::vanish;
    if (op.ends_anyhow) return expected::either;
    // Whole scripts take longer than there is time.
    if (h.what == kind::throttle && all.requests > 1'000) return expected::either;
    if (!is_sudden || hit < quorum) return expected::success;
    if (h.what == kind::cut && op.tries_again) return expected::success;
    // The whole reply got through; what came behind it was in no way any more.
    if (h.where == side::replies && h.after >= all.replies) return expected::either;
    return expected::failure;
}

// What was wrong when `op` was done while `hit` of the nodes were harmed.
std::string play(stage& s, const operation& op, const harm& h, std::size_t hit, const window& all) {
    s.begin();
    op.prepare(s);
    s.d->pass(3ms);                             // the last node's replies
    static std::atomic<std::size_t> first = 0;  // each node has its turn
    s.harmed.clear();
    for (std::size_t i = 0; i < hit; ++i) s.harmed.push_back((first + i) % size);
    ++first;
    for (const auto i : s.harmed) s.proxies[i]->set(h);
    const auto e = outlook(op, h, hit, all);
    const auto begun = clock::now();
    auto wrong = op.act(s, e);
    if (clock::now() - begun > op.limit + slack) wrong += "; it took too long";
    const auto strikes = [&] {
        return std::all_of(s.harmed.begin(), s.harmed.end(),
                           [&](std::size_t i) { return s.proxies[i]->has_struck(); });
    };
    if (e == expected::failure && !s.d->until(strikes, 2s)) wrong += "; no harm was done";
    if (!s.true_elsewhere([&](std::size_t i) { return s.stands("n" + std::to_string(i)); })) {
        wrong += "; another node's connection ended";
    }
    const auto rest = s.end();
    return rest.empty() ? wrong : wrong + "; " + rest;
}

window measure(stage& s, const operation& op) {
    s.begin();
    op.prepare(s);
    s.d->pass(50ms);
    for (auto& p : s.proxies) p->set({.listeners = op.listeners});
    s.harmed = {0};  // as far as the operation itself does something to it
    const auto wrong = op.act(s, op.ends_anyhow ? expected::either : expected::success);
    if (!wrong.empty()) throw std::runtime_error("while all is well: " + wrong);
    s.d->pass(10ms);
    window w;
    for (auto& p : s.proxies) {
        w.requests = std::max(w.requests, p->passed(side::requests));
        w.replies = std::max(w.replies, p->passed(side::replies));
    }
    s.end();
    return w;
}

std::vector<harm> harms_of(const operation& op, const window& all, std::size_t hit) {
    using kind = harm::kind;
    const auto middle = all.replies / 2;
    std::vector<harm> harms{
        {.what = kind::delay, .where = side::requests, .by = 20ms},
        {.what = kind::delay, .where = side::replies, .by = 20ms},
        {.what = kind::throttle},
        {.what = kind::stall, .where = side::requests, .after = 0},
        {.what = kind::stall, .where = side::replies, .after = 0},
        {.what = kind::stall, .where = side::replies, .after = middle},
        {.what = kind::vanish, .where = side::requests, .after = 0},
        {.what = kind::vanish, .where = side::replies, .after = middle},
    };
    for (const auto after : {std::size_t{0}, std::size_t{1}, all.requests / 2, all.requests}) {
        harms.push_back({.what = kind::cut, .where = side::requests, .after = after});
    }
    // At every byte where it does most.
    const std::size_t every = hit < quorum ? 4 * op.every : op.every;
    for (std::size_t after = 0; after <= all.replies; after += every) {
        harms.push_back({.what = kind::cut, .where = side::replies, .after = after});
    }
    for (auto& h : harms) h.listeners = op.listeners;
    return harms;
}

std::string describe(const harm& h, std::size_t hit) {
    static constexpr std::array kinds{"nothing", "delay", "throttle", "cut",
                                      "reset",   "stall", "vanish"};
    return std::string(kinds.at(static_cast<std::size_t>(h.what))) + " after " +
           std::to_string(h.after) + (h.where == side::requests ? " of requests" : " of replies") +
           " on " + std::to_string(hit);
}

// More of one kind tell nothing new, and each may have waited for long.
constexpr int enough_failures = 3;

// A machine that stalls spoils a case now and then, what is wrong with the client comes again.
constexpr int tries = 3;

// Whether the servers themselves have shown what no stall brings about.
bool is_unsafe(const std::string& wrong) {
    return wrong.find("granted without") != std::string::npos ||
           wrong.find("extended without") != std::string::npos;
}

// At once, of all threads: the machine is to keep up with the time-outs.
constexpr int most_at_play = 16;

// What went wrong, over all threads.
struct complaints {
    std::mutex mutex;
    std::vector<std::string> all;
    std::size_t cases = 0;
    std::counting_semaphore<> free_places{most_at_play};
};

// One of them, for as long as it lives.
class place {
public:
    explicit place(std::counting_semaphore<>& of) : of_(of) { of_.acquire(); }
    ~place() { of_.release(); }
    place(const place&) = delete;
    place& operator=(const place&) = delete;

private:
    std::counting_semaphore<>& of_;
};

void play_all(cluster& nodes, bool fencing, const operation& op, std::size_t hit, complaints& out) {
    std::string now = op.name;
    const auto complain = [&](const std::string& what) {
        const std::lock_guard lock(out.mutex);
        out.all.push_back(now + (fencing ? ", fenced: " : ", plain: ") + what);
    };
    std::optional<stage> s;
    window all;
    // What was wrong in every try; each but the first is on a new stage.
    const auto always_wrong = [&](const auto& act) {
        std::string wrong;
        for (int i = 0; i < tries && !is_unsafe(wrong); ++i) {
            const place one(out.free_places);
            try {
                if (!s) all = measure(s.emplace(nodes, fencing), op);
                wrong = act();
            } catch (const std::exception& e) {
                wrong = e.what();
            }
            if (wrong.empty()) return wrong;
            s.reset();
            const std::lock_guard lock(out.mutex);
            std::cerr << "try " << i + 1 << " of " << tries << ", " << now << ": " << wrong << '\n';
        }
        return wrong;
    };
    const auto unmeasured = always_wrong([] { return std::string(); });
    if (!unmeasured.empty()) return complain(unmeasured);
    int failures = 0;
    for (const auto& h : harms_of(op, all, hit)) {
        now = op.name + ", " + describe(h, hit);
        const auto wrong = always_wrong([&] { return play(*s, op, h, hit, all); });
        if (!wrong.empty()) complain(wrong);
        if (!wrong.empty() && ++failures == enough_failures) return;
        const std::lock_guard lock(out.mutex);
        ++out.cases;
    }
}

// On servers of its own: others would notice the flush.
void play_all_flushed(bool fencing, const operation& op, complaints& out) {
    founded_cluster nodes(size);
    for (std::size_t hit = 1; hit <= quorum; ++hit) {
        play_all(nodes, fencing, after_a_flush(op), hit, out);
    }
}

}  // namespace

TEST_CASE("whatever the network does to a connection, outcomes are right and end in time",
          "[proxy]") {
    founded_cluster nodes(size);
    const auto memory = resident_kib();
    complaints found_wrong;
    {
        std::vector<std::jthread> threads;
        for (const auto& op : operations()) {
            for (const bool fencing : {true, false}) {
                if (op.is_fenced_only && !fencing) continue;
                for (std::size_t hit = 1; hit <= quorum; ++hit) {
                    threads.emplace_back([&nodes, &found_wrong, op, fencing, hit] {
                        play_all(nodes, fencing, op, hit, found_wrong);
                    });
                }
                if (!op.needs_scripts) continue;
                threads.emplace_back(
                    [&found_wrong, op, fencing] { play_all_flushed(fencing, op, found_wrong); });
            }
        }
    }
    for (const auto& what : found_wrong.all) FAIL_CHECK(what);
    CHECK(found_wrong.cases > 500);
    CHECK(resident_kib() - memory < 100 * 1024);
}
