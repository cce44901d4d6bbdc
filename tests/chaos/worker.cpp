// Contenders of one process: they acquire in every way the client offers and end in every way.
// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include "judge/journal.hpp"

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

namespace redlock::chaos {

namespace asio = boost::asio;
using judge::entry;
using judge::part;
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

enum class farewell { release, destroy, detach };

/// How one turn of a contender is to go.
struct plan {
    std::string resource;  // or several, with a plus between them
    acquire_options terms;
    milliseconds hold{0};
    milliseconds cancel_after{-1};  // negative: never
    bool extends = false;           // by hand, at half the ttl
    bool sleeps = false;            // the whole program, until the lease is over
    farewell end = farewell::release;
};

class dice {
public:
    explicit dice(std::uint64_t seed) : random_(seed) {}
    int between(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
    milliseconds ms(int from, int to) { return milliseconds(between(from, to)); }

private:
    std::mt19937_64 random_;
};

// Some have a resource alone, or two at once; some may share it, beside others that want it alone;
// some want one of its slots, of which not all name the same number.
void draw_resource(dice& random, const std::string& prefix, plan& p) {
    const int number = random.between(0, 1);
    switch (random.between(0, 7)) {
        case 0:
        case 1: p.resource = prefix + "alone" + std::to_string(number); break;
        case 2: p.resource = prefix + "alone0+" + prefix + "alone1"; break;
        case 3:
        case 4:
        case 5:
            p.resource = prefix + "shared" + std::to_string(number);
            if (random.between(0, 2) != 0) p.terms.mode = lock_mode::shared;
            break;
        default:
            p.resource = prefix + "slots" + std::to_string(number);
            p.terms.slots = static_cast<std::uint16_t>(2 + random.between(0, number));
    }
}

void keep(plan& p, milliseconds at_least) {
    if (p.terms.mode != lock_mode::shared) p.terms.min_hold = at_least;
}

// Long, and kept by nothing but its ttl: what a node that forgets is most dangerous to.
plan draw_long(dice& random, milliseconds ttl_max) {
    plan p;
    draw_resource(random, "long-", p);
    p.terms.ttl = random.ms(1'500, static_cast<int>(ttl_max.count()));
    p.terms.wait = 3s;
    p.terms.renew = false;
    p.hold = p.terms.ttl * random.between(5, 9) / 10;
    if (random.between(0, 15) == 0) {  // short, and kept for long
        p.hold = random.ms(0, 30);
        keep(p, random.ms(500, static_cast<int>(ttl_max.count()) - 100));
    }
    return p;
}

plan draw_short(dice& random) {
    plan p;
    draw_resource(random, "", p);
    p.terms.ttl = random.ms(300, 2'000);
    p.terms.wait = std::array{0ms, 500ms, 3'000ms}[static_cast<std::size_t>(random.between(0, 2))];
    p.terms.renew = random.between(0, 1) == 0;
    p.hold = random.ms(0, 30);
    p.end = random.between(0, 2) == 0 ? farewell::destroy : farewell::release;
    if (random.between(0, 15) == 0) keep(p, random.ms(20, 500));
    switch (random.between(0, 31)) {
        case 0:  // across several renewals
            p.terms.renew = true;
            p.terms.ttl = random.ms(300, 600);
            p.hold = 3 * p.terms.ttl;
            break;
        case 1:
            p.terms.renew = false;
            p.extends = true;
            p.terms.ttl = random.ms(300, 600);
            p.hold = 2 * p.terms.ttl;
            break;
        case 2:
            p.terms.ttl = random.ms(300, 600);
            p.end = farewell::detach;
            break;
        case 3:  // to the loss
            p.terms.renew = false;
            p.terms.ttl = random.ms(300, 500);
            p.hold = 2 * p.terms.ttl;
            break;
        case 4:
            p.terms.renew = true;
            p.terms.ttl = random.ms(300, 600);
            p.terms.max_hold = 2 * p.terms.ttl;
            p.hold = 3 * p.terms.ttl;
            break;
        case 5:  // as in a long pause, but seen before the client's timers can tell
            p.terms.renew = false;
            p.terms.ttl = 300ms;
            p.hold = 1s;
            p.sleeps = true;
            break;
        case 6:
        case 7: p.cancel_after = random.ms(0, 5); break;
        default: break;
    }
    return p;
}

class worker {
public:
    explicit worker(const worker_options& options);
    int run();

private:
    asio::awaitable<void> contend(unsigned contender);
    asio::awaitable<void> turn(unsigned contender, const plan& p);
    asio::awaitable<lease> acquire(unsigned contender, const plan& p);
    asio::awaitable<void> hold(entry& section, lease& held, const plan& p);
    asio::awaitable<void> give_back(entry section, lease held, farewell how);
    asio::awaitable<void> rest(unsigned contender);
    asio::awaitable<void> pause(milliseconds time);
    /// Whether the lease is trusted now; if so the section is known to reach to this instant.
    bool look(entry& section, const lease& held);
    /// What the history has of a lease; `asked`: when the acquire began.
    entry section_of(unsigned contender, const plan& p, const lease& held, clock::time_point asked);
    /// What a lease must be whatever befalls the nodes.
    void inspect(const entry& section, const lease& held, milliseconds ttl);
    asio::awaitable<void> expect_told(const entry& section, const lease& held);
    void write(entry section, entry::kind what, std::string text = "-");
    void refused(entry section, std::string why);
    void await_signal();
    void on_signal(int number);
    void leave();

    worker_options options_;
    dice random_;
    judge::journal history_;
    asio::io_context context_;
    std::optional<asio::thread_pool> pool_;
    std::optional<client> client_;
    std::vector<node_options> nodes_;
    asio::signal_set signals_;
    std::uint64_t sections_ = 0;
    unsigned calm_ = 0;  // how many signals had it rest
    bool is_calm_ = false;
    bool is_ending_ = false;
    unsigned resting_ = 0;
    unsigned contending_ = 0;
};

client_options client_terms(const worker_options& options) {
    client_options terms;
    if (!options.list.empty()) {
        terms = load_options(options.list).value();
    } else {
        terms.cluster = "under test";  // others may know the nodes by other addresses
        for (const auto port : options.ports) {
            node_options node;
            node.port = port;
            terms.nodes.push_back(std::move(node));
        }
    }
    terms.ttl_max = options.ttl_max;
    terms.connect_timeout = options.connect_timeout;
    terms.client_name = options.name;
    return terms;
}

// Of each of the two lists, where the list changes. There is one vote for each node.
bool are_a_quorum(std::span<const node_vote> votes, const std::vector<node_options>& nodes) {
    const auto is_majority_without = [&](list_change others) {
        std::size_t size = 0;
        std::size_t granted = 0;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i].change == others) continue;
            ++size;
            granted += i < votes.size() && votes[i].answer == vote::granted ? 1 : 0;
        }
        return granted > size / 2;
    };
    return is_majority_without(list_change::joining) && is_majority_without(list_change::leaving);
}

worker::worker(const worker_options& options)
    : options_(options),
      random_(options.seed),
      history_(options.history),
      signals_(context_, SIGUSR1, SIGUSR2, SIGTERM) {
    asio::any_io_executor where = context_.get_executor();
    if (options.threads > 0) where = pool_.emplace(options.threads).get_executor();
    auto terms = client_terms(options);
    nodes_ = terms.nodes;
    client_.emplace(where, std::move(terms));
}

int worker::run() {
    await_signal();
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_UNBLOCK, &all, nullptr);  // our parent held them back until now
    for (unsigned c = 0; c < options_.contenders; ++c) {
        ++contending_;
        asio::co_spawn(context_, contend(c), [this](const std::exception_ptr& failure) {
            if (failure) std::rethrow_exception(failure);
            if (--contending_ == 0) leave();
        });
    }
    context_.run();
    client_.reset();
    if (pool_) pool_->join();
    return 0;
}

void worker::leave() {
    signals_.cancel();
    client_->close();
}

void worker::await_signal() {
    signals_.async_wait([this](error_code error, int number) {
        if (error) return;
        on_signal(number);
        await_signal();
    });
}

void worker::on_signal(int number) {
    if (number == SIGTERM) is_ending_ = true;
    if (number == SIGUSR2) is_calm_ = false;
    if (number == SIGUSR1) {
        is_calm_ = true;
        resting_ = 0;
        ++calm_;
    }
}

asio::awaitable<void> worker::pause(milliseconds time) {
    asio::steady_timer timer(context_, time);
    co_await timer.async_wait(awaited);
}

asio::awaitable<void> worker::contend(unsigned contender) {
    unsigned rested = 0;
    while (!is_ending_) {
        if (is_calm_ && rested != calm_) {
            rested = calm_;
            co_await rest(contender);
        } else if (is_calm_) {
            co_await pause(5ms);
        } else {
            const plan p =
                contender % 2 == 0 ? draw_short(random_) : draw_long(random_, options_.ttl_max);
            co_await turn(contender, p);
            co_await pause(random_.ms(0, 20));
        }
    }
}

// A key that stays behind now would be seen: its ttl is far longer than the rest.
asio::awaitable<void> worker::rest(unsigned contender) {
    const auto round = calm_;
    plan p;
    draw_resource(random_, "", p);
    p.terms.ttl = options_.ttl_max;
    p.terms.wait = 10s;
    p.terms.renew = false;
    co_await turn(contender, p);
    if (round == calm_ && ++resting_ == options_.contenders) {
        entry all;
        all.at = clock::now();
        history_.write(all);
    }
}

void worker::write(entry section, entry::kind what, std::string text) {
    section.what = what;
    section.text = std::move(text);
    history_.write(section);
}

void worker::refused(entry section, std::string why) {
    section.at = clock::now();
    write(std::move(section), entry::kind::refused, std::move(why));
}

entry worker::section_of(unsigned contender, const plan& p, const lease& held,
                         clock::time_point asked) {
    entry section;
    section.contender = contender;
    section.resource = p.resource;
    if (p.terms.mode == lock_mode::shared) section.of.what = part::kind::shared;
    if (p.terms.slots > 0) section.of = {part::kind::slot, held.slot(), p.terms.slots};
    if (held.fence() == 0) return section;  // refused
    section.section = ++sections_;
    section.owner = held.owner().to_string() + "@" + options_.name;
    section.fence = held.fence();
    // The round that was granted was sent when its validity began, unless that was prolonged.
    const auto sent = held.valid_until() - (p.terms.ttl - p.terms.ttl / 100 - 2ms);
    section.asked_at = p.terms.renew ? asked : sent;
    if (p.terms.min_hold > 0ms) section.kept_until = section.asked_at + p.terms.min_hold;
    return section;
}

asio::awaitable<lease> worker::acquire(unsigned contender, const plan& p) {
    const auto signal = std::make_shared<asio::cancellation_signal>();
    asio::steady_timer timer(context_);
    if (p.cancel_after >= 0ms) {
        timer.expires_after(p.cancel_after);
        timer.async_wait([signal](error_code error) {
            if (!error) signal->emit(asio::cancellation_type::terminal);
        });
    }
    resource_list several(judge::names_of(p.resource));
    std::tuple<error_code, lease> answer;
    if (several.names().size() > 1) {
        answer = co_await client_->async_acquire_all(
            std::move(several), p.terms, asio::bind_cancellation_slot(signal->slot(), awaited));
    } else {
        answer = co_await client_->async_acquire(
            p.resource, p.terms, asio::bind_cancellation_slot(signal->slot(), awaited));
    }
    auto& [error, got] = answer;
    if (error) {
        refused(section_of(contender, p, {}, {}),
                error == asio::error::operation_aborted ? "cancelled" : error.message());
    }
    co_return std::move(got);
}

asio::awaitable<void> worker::turn(unsigned contender, const plan& p) {
    const auto asked = clock::now();
    lease held = co_await acquire(contender, p);
    entry section = section_of(contender, p, held, asked);
    if (!look(section, held)) {
        // Granted, but the process slept until it was over: nobody ever stood inside.
        if (held.fence() != 0) refused(std::move(section), "expired");
        co_return;
    }
    write(section, entry::kind::granted, "-");
    inspect(section, held, p.terms.ttl);
    co_await hold(section, held, p);
    co_await give_back(std::move(section), std::move(held), p.end);
}

bool worker::look(entry& section, const lease& held) {
    const auto now = clock::now();
    const auto valid_until = held.valid_until();
    if (!held) return false;
    section.at = now;
    section.valid_until = valid_until;
    return true;
}

void worker::inspect(const entry& section, const lease& held, milliseconds ttl) {
    if (!are_a_quorum(held.votes(), nodes_)) {
        write(section, entry::kind::broken, "a lease without the votes of a quorum");
    }
    if (section.valid_until > clock::now() + ttl - ttl / 100 - 2ms) {
        write(section, entry::kind::broken, "a validity that outlives the keys");
    }
}

// By the client's own timer: it is waited for by turns, not by time, which a pause would pass over.
asio::awaitable<void> worker::expect_told(const entry& section, const lease& held) {
    for (int turns = 0; turns < 1'000; ++turns) {
        if (held.lost_token().stop_requested()) co_return;
        co_await pause(1ms);
    }
    write(section, entry::kind::broken, "a loss that nothing reported");
}

asio::awaitable<void> worker::hold(entry& section, lease& held, const plan& p) {
    const auto until = section.at + p.hold;
    auto extend_at = section.at + p.terms.ttl / 2;
    auto told = section;
    while (section.at < until) {
        const auto left = std::chrono::ceil<milliseconds>(until - section.at);
        if (p.sleeps) {
            std::this_thread::sleep_for(held.remaining() + 2ms);
        } else {
            co_await pause(std::min(left, milliseconds(10)));
        }
        if (p.extends && clock::now() >= extend_at) {
            extend_at += p.terms.ttl / 2;
            co_await client_->async_extend(held, p.terms.ttl, awaited);
        }
        if (!look(section, held)) co_return;
        const bool is_over = section.at >= section.valid_until;  // yet it is trusted
        if (is_over || section.valid_until != told.valid_until || section.at > told.at + 100ms) {
            write(section, entry::kind::trusted);
            if (section.valid_until != told.valid_until) {
                inspect(section, held, p.terms.ttl);
            }
            told = section;
        }
    }
}

asio::awaitable<void> worker::give_back(entry section, lease held, farewell how) {
    // The end is on record before the release can begin.
    const bool is_trusted = look(section, held);
    if (!is_trusted) {
        write(section, entry::kind::ended, "lost");
        co_await pause(2ms);
        co_await expect_told(section, held);
        if (held) write(section, entry::kind::broken, "a lost lease came to life again");
    } else if (how == farewell::detach) {
        section.at = section.valid_until;
        write(section, entry::kind::ended, "detached");
        held.detach();
        co_return;
    } else {
        write(section, entry::kind::ended, how == farewell::destroy ? "destroyed" : "released");
    }
    if (how == farewell::destroy) {
        held = lease();
    } else {
        co_await client_->async_release(std::move(held), awaited);
    }
}

}  // namespace

std::vector<std::string> worker_options::words() const {
    std::vector<std::string> all{name,
                                 history.string(),
                                 std::to_string(seed),
                                 std::to_string(contenders),
                                 std::to_string(threads),
                                 std::to_string(ttl_max.count()),
                                 std::to_string(connect_timeout.count())};
    for (const auto port : ports) all.push_back(std::to_string(port));
    if (!list.empty()) all.push_back(list.string());
    return all;
}

worker_options worker_options::from(const std::vector<std::string>& words) {
    worker_options o;
    o.name = words.at(0);
    o.history = words.at(1);
    o.seed = std::stoull(words.at(2));
    o.contenders = static_cast<unsigned>(std::stoul(words.at(3)));
    o.threads = static_cast<unsigned>(std::stoul(words.at(4)));
    o.ttl_max = milliseconds(std::stoll(words.at(5)));
    o.connect_timeout = milliseconds(std::stoll(words.at(6)));
    if (words.size() == 8 && words[7].ends_with(".json")) {
        o.list = words[7];
        return o;
    }
    for (std::size_t i = 7; i < words.size(); ++i) {
        o.ports.push_back(static_cast<std::uint16_t>(std::stoul(words[i])));
    }
    return o;
}

int run_worker(const worker_options& options) {
    worker one(options);
    return one.run();
}

}  // namespace redlock::chaos
