// Speaks RESP over Asio as a script tells it; knows no rule of the locks.
// SPDX-License-Identifier: MIT
#include "hostile_server.hpp"

#include "../../support/record_words.hpp"
#include "../../support/requests.hpp"
#include "testing/script_host.hpp"
#include "wire/resp/command.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace redlock::testing {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using steady = std::chrono::steady_clock;

std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

std::string name_of(const std::vector<asked>& requests) {
    const auto is_acquire = [](const asked& one) { return one.what == ask::acquire; };
    if (std::any_of(requests.begin(), requests.end(), is_acquire)) return "ACQUIRE";
    return requests.front().what == ask::extend ? "EXTEND" : "RELEASE";
}

std::string name_of(const std::vector<std::string>& words) {
    auto name = upper(words.front());
    const bool has_part = name == "SCRIPT" || name == "CLIENT" || name == "CONFIG";
    if (words.size() < 2) return name;
    if (has_part) return name + " " + upper(words[1]);
    if (const auto call = requests_of(words)) return name + " " + name_of(call->all);
    for (const auto& s : resp::all_scripts()) {
        if ((name == "EVAL" && words[1] == s.text) || (name == "EVALSHA" && words[1] == s.sha1)) {
            return name + " " + upper(std::string(s.name));
        }
    }
    return name;
}

bool asks_for_record(const std::string& name) { return name.ends_with(" RECORD"); }

// A later TIME is a probe.
bool opens_a_connection(const std::string& name, int number_of_name) {
    static const std::vector<std::string> names{"AUTH", "SELECT", "CLIENT SETNAME", "SCRIPT EXISTS",
                                                "SCRIPT LOAD", "INFO", "CONFIG GET", "HELLO"};
    return (name == "TIME" && number_of_name == 0) || asks_for_record(name) ||
           std::find(names.begin(), names.end(), name) != names.end();
}

std::int64_t now_us() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::string run_id_of(int id) { return std::string(35, '0') + std::to_string(10'000 + id % 90'000); }

// An old server, whose record nobody need wait for, and which was never struck since. What replaces the
// record is said to have done so.
std::string node_record(const std::vector<std::string>& words, int id, const std::string& set) {
    const std::string now = std::to_string(now_us());
    std::string text = std::string(22, 'e') + " run_id=" + run_id_of(id) + " durable=0 since=0" +
                       " cluster_since=0 created=5 quarantine=60000 ttl_max=60000 init=1 offset=0" +
                       " error=0 seen=" + now + " set=" + set;
    if (words.size() > 5) {
        record_words next(words[5]);
        for (const auto* const instant : {"since", "cluster_since", "created", "seen"}) {
            std::string& value = next[instant];
            if (!value.starts_with("@now")) continue;
            value = std::to_string(std::stoll(now) + std::stoll(value.substr(4)));
        }
        text = next.text();
    }
    return "*2\r\n:" + now + "\r\n" + bulk(text);
}

// As good a server as a client that never looks twice can tell. `id` makes it another server.
std::string proper_answer(const std::string& name, const std::vector<std::string>& words, int id,
                          const std::string& set) {
    if (name == "SCRIPT EXISTS") {  // none
        std::string none = "*" + std::to_string(words.size() - 2) + "\r\n";
        for (std::size_t i = 2; i < words.size(); ++i) none += ":0\r\n";
        return none;
    }
    if (name == "SCRIPT LOAD") return bulk(fakes::sha1_of(words.back()));
    if (name == "INFO") {
        return bulk("# Server\r\nredis_version:7.0.15\r\nprocess_id:1\r\n"
                    "run_id:" + run_id_of(id) +
                    "\r\n"
                    "# Persistence\r\nloading:0\r\naof_enabled:1\r\n"
                    "# Replication\r\nrole:master\r\n");
    }
    if (name == "CONFIG GET") return "*2\r\n" + bulk(words.back()) + bulk("always");
    if (name == "TIME") {
        const auto micros = now_us();
        return "*2\r\n" + bulk(std::to_string(micros / 1'000'000)) +
               bulk(std::to_string(micros % 1'000'000));
    }
    if (asks_for_record(name)) return node_record(words, id, set);
    const auto call = requests_of(words);
    if (call && call->all.size() > 1) {
        std::string yes = "*" + std::to_string(call->all.size()) + "\r\n";
        for (std::size_t i = 0; i < call->all.size(); ++i) yes += ":1\r\n";
        return yes;
    }
    if (name.starts_with("EVAL") || name == "DEL") return ":1\r\n";
    if (name == "GET") return "$-1\r\n";
    if (name == "PTTL") return ":-2\r\n";
    if (name == "PING") return "+PONG\r\n";
    return "+OK\r\n";
}

// The commands that stand whole at the front of `input`; what was read is taken off.
std::optional<std::vector<std::string>> take_command(std::string& input) {
    std::size_t at = 0;
    const auto number = [&](char mark) -> std::optional<std::size_t> {
        const auto end = input.find("\r\n", at);
        if (end == std::string::npos || input[at] != mark) return std::nullopt;
        const auto value = std::stoul(input.substr(at + 1, end - at - 1));
        at = end + 2;
        return value;
    };
    const auto count = number('*');
    if (!count) return std::nullopt;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < *count; ++i) {
        const auto size = number('$');
        if (!size || input.size() < at + *size + 2) return std::nullopt;
        words.push_back(input.substr(at, *size));
        at += *size + 2;
    }
    input.erase(0, at);
    return words;
}

struct due_answer {
    answer what;
    steady::time_point when;
};

}  // namespace

class hostile_server::impl {
public:
    explicit impl(misbehaviour script)
        : script_(std::move(script)), acceptor_(context_, {asio::ip::address_v4::loopback(), 0}) {
        port_ = acceptor_.local_endpoint().port();
        asio::co_spawn(context_, accept(), asio::detached);
        thread_ = std::thread([this] { context_.run(); });
    }
    ~impl() {
        context_.stop();
        thread_.join();
    }

    struct session {
        explicit session(tcp::socket s, int n)
            : socket(std::move(s)), wake(socket.get_executor()), number(n) {}
        tcp::socket socket;
        asio::steady_timer wake;  // cancelled when there is news for the writer
        std::deque<due_answer> answers;
        std::map<std::string, int> counts;
        std::string set;  // which its client names
        int number;
        int commands = 0;
        bool closed = false;
    };

    void read_into(session& s, std::string& input) {
        while (!input.empty()) {
            auto words = take_command(input);
            if (!words || words->empty()) return;
            request r;
            r.name = name_of(*words);
            r.connection = s.number;
            r.number = s.commands++;
            r.number_of_name = s.counts[r.name]++;
            r.handshake = opens_a_connection(r.name, r.number_of_name);
            if (r.name == "CLIENT SETNAME") {  // NAME#SET, or NAME#SET#PREFIX
                const std::string& name = words->back();
                const auto from = name.find('#') + 1;
                s.set = name.substr(from, name.find('#', from) - from);
            }
            r.proper = proper_answer(r.name, *words, port_, s.set);
            // It says that it has no script, and is sent them after this look.
            if (r.name == "EVALSHA RECORD" && r.number_of_name == 0) {
                r.proper = "-NOSCRIPT No matching script.\r\n";
            }
            r.words = std::move(*words);
            const std::lock_guard lock(mutex_);
            ++commands_[r.name];
            ++commands_[""];
            auto what = script_(r);
            const auto when = steady::now() + what.delay;
            s.answers.push_back({std::move(what), when});
        }
    }

    asio::awaitable<void> read(std::shared_ptr<session> s) {
        std::string input;
        std::vector<char> buffer(64 * 1024);
        for (;;) {
            boost::system::error_code error;
            auto token = asio::redirect_error(asio::use_awaitable, error);
            const auto size = co_await s->socket.async_read_some(asio::buffer(buffer), token);
            if (error) break;
            input.append(buffer.data(), size);
            read_into(*s, input);
            s->wake.cancel();
        }
        close(*s);
    }

    asio::awaitable<bool> put(session& s, const answer& what) {
        const auto piece = what.piece == 0 ? what.bytes.size() : what.piece;
        boost::system::error_code error;
        auto token = asio::redirect_error(asio::use_awaitable, error);
        for (std::size_t at = 0; at < what.bytes.size() && !error; at += piece) {
            const auto part = asio::buffer(what.bytes.data() + at,
                                           std::min(piece, what.bytes.size() - at));
            bytes_written_ += co_await asio::async_write(s.socket, part, token);
        }
        co_return !error;
    }

    asio::awaitable<void> write(std::shared_ptr<session> s) {
        boost::system::error_code ignored;
        auto token = asio::redirect_error(asio::use_awaitable, ignored);
        while (!s->closed) {
            const auto now = steady::now();
            if (s->answers.empty() || s->answers.front().when > now) {
                s->wake.expires_at(s->answers.empty() ? steady::time_point::max()
                                                      : s->answers.front().when);
                co_await s->wake.async_wait(token);
                continue;
            }
            const auto what = std::move(s->answers.front().what);
            s->answers.pop_front();
            bool good = co_await put(*s, what);
            while (good && what.after == answer::then::repeat_for_ever) {
                good = co_await put(*s, what);
            }
            if (!good || what.after == answer::then::close) break;
            if (what.after == answer::then::fall_silent) co_return;
        }
        close(*s);
    }

    asio::awaitable<void> accept() {
        for (int number = 0;; ++number) {
            auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
            socket.set_option(tcp::no_delay(true));
            auto s = std::make_shared<session>(std::move(socket), number);
            {
                const std::lock_guard lock(mutex_);
                ++accepted_;
                ++open_;
            }
            sessions_.push_back(s);
            asio::co_spawn(context_, read(s), asio::detached);
            asio::co_spawn(context_, write(s), asio::detached);
        }
    }

    void close(session& s) {
        if (std::exchange(s.closed, true)) return;
        boost::system::error_code ignored;
        s.socket.shutdown(tcp::socket::shutdown_both, ignored);
        s.socket.close(ignored);
        s.wake.cancel();
        {
            const std::lock_guard lock(mutex_);
            --open_;
        }
        sessions_.remove_if([&](const auto& other) { return other.get() == &s; });
    }

    void push(std::string bytes) {
        asio::post(context_, [this, bytes = std::move(bytes)] {
            for (const auto& s : sessions_) {
                s->answers.push_back({{.bytes = bytes}, steady::now()});
                s->wake.cancel();
            }
        });
    }

    void cut() {
        asio::post(context_, [this] {
            const auto all = sessions_;
            for (const auto& s : all) close(*s);
        });
    }

    asio::io_context context_{1};
    mutable std::mutex mutex_;
    misbehaviour script_;
    std::map<std::string, int> commands_;
    int accepted_ = 0;
    int open_ = 0;
    std::atomic<std::size_t> bytes_written_{0};
    std::list<std::shared_ptr<session>> sessions_;
    tcp::acceptor acceptor_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

hostile_server::hostile_server(misbehaviour script)
    : impl_(std::make_unique<impl>(std::move(script))) {}
hostile_server::~hostile_server() = default;

std::uint16_t hostile_server::port() const noexcept { return impl_->port_; }

node_options hostile_server::node(const std::string& name) const {
    node_options node;
    node.name = name;
    node.host = "127.0.0.1";
    node.port = port();
    return node;
}

int hostile_server::connections_accepted() const {
    const std::lock_guard lock(impl_->mutex_);
    return impl_->accepted_;
}

int hostile_server::connections_open() const {
    const std::lock_guard lock(impl_->mutex_);
    return impl_->open_;
}

int hostile_server::commands(const std::string& name) const {
    const std::lock_guard lock(impl_->mutex_);
    const auto found = impl_->commands_.find(name);
    return found == impl_->commands_.end() ? 0 : found->second;
}

std::size_t hostile_server::bytes_written() const { return impl_->bytes_written_; }

void hostile_server::behave(misbehaviour script) {
    const std::lock_guard lock(impl_->mutex_);
    impl_->script_ = std::move(script);
}

void hostile_server::push(std::string bytes) { impl_->push(std::move(bytes)); }
void hostile_server::cut() { impl_->cut(); }
void hostile_server::appease() {
    behave(hostile::none());
    cut();
}

namespace hostile {
namespace {

misbehaviour after_the_greeting(answer what) {
    return [what = std::move(what)](const request& r) {
        return r.handshake ? answer{.bytes = r.proper} : what;
    };
}

}  // namespace

misbehaviour none() {
    return [](const request& r) { return answer{.bytes = r.proper}; };
}

misbehaviour answers(std::string bytes) { return after_the_greeting({.bytes = std::move(bytes)}); }

misbehaviour error(std::string text) { return answers("-" + std::move(text) + "\r\n"); }

misbehaviour answers_then_closes(std::string bytes) {
    return after_the_greeting({.bytes = std::move(bytes), .after = answer::then::close});
}

misbehaviour answers_then_silence(std::string bytes) {
    return after_the_greeting({.bytes = std::move(bytes), .after = answer::then::fall_silent});
}

misbehaviour floods(std::string bytes) {
    return after_the_greeting({.bytes = std::move(bytes), .after = answer::then::repeat_for_ever});
}

misbehaviour delays(std::chrono::milliseconds by) {
    return [by](const request& r) {
        return answer{.bytes = r.proper,
                      .delay = r.handshake ? std::chrono::milliseconds(0) : by};
    };
}

misbehaviour splits(std::size_t piece) {
    return [piece](const request& r) { return answer{.bytes = r.proper, .piece = piece}; };
}

misbehaviour never_answers() {
    return [](const request&) { return answer{.bytes = {}, .after = answer::then::fall_silent}; };
}

misbehaviour at(std::string name, int nth, answer instead) {
    return [name = std::move(name), nth, instead = std::move(instead)](const request& r) {
        return r.name == name && r.number_of_name == nth ? instead : answer{.bytes = r.proper};
    };
}

misbehaviour only_at_first(int connections, misbehaviour script) {
    return [connections, script = std::move(script)](const request& r) {
        return r.connection < connections ? script(r) : answer{.bytes = r.proper};
    };
}

std::string garbage() { return "HTTP/1.1 400 Bad Request\r\n\r\n\x01\x02\x03"; }

std::string nested(int depth) {
    std::string bytes;
    for (int i = 0; i < depth; ++i) bytes += "*1\r\n";
    return bytes + ":1\r\n";
}

}  // namespace hostile
}  // namespace redlock::testing
