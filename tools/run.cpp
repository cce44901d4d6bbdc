// `redlock run`: acquire, run, and end the command's process group before the validity ends.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/child.hpp"
#include "tools/exit_status.hpp"
#include "tools/formats.hpp"
#include "tools/inspect.hpp"
#include "tools/narrator.hpp"
#include "tools/nesting.hpp"
#include "tools/report.hpp"
#include "tools/signals.hpp"

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/detail/printable.hpp>
#include <redlock/event.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/run_record.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

kind_of_lock wanted(const lease_request& lease) {
    if (lease.slots > 0) return kind_of_lock::slot;
    return lease.shared ? kind_of_lock::shared : kind_of_lock::exclusive;
}

// Returns only if it fails.
int become(const std::vector<std::string>& command, const environment& additions,
           const inherited_signals& given) {
    std::vector<std::string> words = command;
    std::vector<std::string> variables = merged(additions);
    take_time();  // for what was written so far
    int why = 0;
    {
        const signals_blocked until_gone;
        given.restore();
        ::execvpe(words.front().c_str(), pointers(words).data(), pointers(variables).data());
        why = errno;
    }
    complain(explain_exec(command, why));
    return why == ENOENT ? not_found : not_executable;
}

// The locks of the runs around this process, by its environment.
std::vector<held_lock> locks_around() {
    return read_held(std::getenv("REDLOCK_HELD"), std::getenv("REDLOCK_RESOURCE"),
                     std::getenv("REDLOCK_OWNER"), std::getenv("REDLOCK_FENCE"));
}

// What CMD finds in its environment. `slots` and `note`: of the lock, where it has any.
environment variables_for(const std::vector<std::string>& resources, const held_lock& lock,
                          std::span<const std::uint16_t> slots, const std::string& note,
                          const std::vector<held_lock>& all) {
    std::string lines;
    for (const auto& one : resources) lines += (lines.empty() ? "" : "\n") + one;
    std::string places;
    for (const auto one : slots) places += (places.empty() ? "" : "\n") + std::to_string(one);
    return {{"REDLOCK_RESOURCE", lines},
            {"REDLOCK_FENCE", std::to_string(lock.fence)},
            {"REDLOCK_OWNER", lock.owner},
            {"REDLOCK_SLOT", slots.empty() ? std::nullopt : std::optional(places)},
            {"REDLOCK_NOTE", note.empty() ? std::nullopt : std::optional(note)},
            {"REDLOCK_HELD", write_held(all)}};
}

constexpr auto between_tries = 250ms;

bool is_open(const resource_state& state) { return !state.decided; }

// What the nodes say of each, when all are decided, or the wait is over.
std::vector<resource_state> states_of(const run_request& request, client& asking,
                                      asio::io_context& context, clock::time_point until,
                                      narrator& says) {
    std::vector<resource_state> out(request.resources.size());
    asio::steady_timer rest(context);
    for (;;) {
        std::size_t open = out.size();
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::string& name = request.resources[i];
            asking.async_inspect(name, [&, i](error_code, const resource_state& shown) {
                out[i] = shown;
                --open;
            });
        }
        while (open > 0) context.run_one();
        const auto silent = std::find_if(out.begin(), out.end(), is_open);
        if (silent == out.end() || clock::now() >= until) {
            says.waited();
            return out;
        }
        says.without_quorum(*silent, {});
        open = 1;
        rest.expires_after(between_tries);
        rest.async_wait([&](error_code) { open = 0; });
        while (open > 0) context.run_one();
    }
}

// If an outer run holds what is wanted, by the nodes' word, replaces this process by CMD: so CMD
// is in the process group that the outer run ends when its lease is lost. Returns the exit status
// if that fails or would be a deadlock, or if the nodes name no holder before the wait is
// over: the outer run may not be waited for. Nothing if the run has to acquire its own lock, with
// what is left of `wait` then.
std::optional<int> run_under_outer_lock(const run_request& request, const configuration& from,
                                        std::chrono::milliseconds& wait,
                                        const inherited_signals& given) {
    const auto around = locks_around();
    const bool is_named = std::any_of(around.begin(), around.end(), [&](const held_lock& h) {
        return std::find(request.resources.begin(), request.resources.end(), h.resource) !=
               request.resources.end();
    });
    if (!is_named) return std::nullopt;
    asio::io_context context(1);
    client_options options = from.client;
    first_contact contact(options);
    client asking(context.get_executor(), options);
    contact.wait(context);
    const auto began = clock::now();
    narrator says(request);
    const auto states = states_of(request, asking, context, began + wait, says);
    asking.close();
    const auto unknown = std::find_if(states.begin(), states.end(), is_open);
    if (unknown != states.end()) {
        complain(silence_of(*unknown));
        return no_quorum;
    }
    std::vector<footing> found;
    for (const resource_state& state : states) {
        found.push_back(find_footing(around, wanted(request.lease), state, request.lease.permits,
                                     request.lease.slots));
    }
    const footing whole = together(found);
    switch (whole.what) {
        case footing::kind::own: break;
        case footing::kind::outer:
            says.nested(whole.under.fence);
            return become(request.command,
                          variables_for(request.resources, whole.under, whole.slots, whole.note,
                                        around),
                          given);
        case footing::kind::partly:
            fail("'" + whole.under.resource +
                 "' is held by a redlock run around this one, and not all of " +
                 quoted(request.resources) +
                 " by that one: it would wait for itself. Let the outer one name them all");
        case footing::kind::deadlock:
            fail("'" + whole.under.resource +
                 "' is shared by the redlock run around this one, which would wait for itself "
                 "if it took it alone: give this one --shared, too, or leave out --shared "
                 "of the outer one");
        case footing::kind::crowded:
            fail("the redlock run around this one has slots of '" + whole.under.resource +
                 "', and " + std::to_string(request.lease.permits) +
                 " more don't fit beside them: it would wait for itself. Let the outer one have "
                 "as many --permits");
    }
    context.restart();
    context.run_for(longest_answer(from.client));
    const auto spent = std::chrono::floor<std::chrono::milliseconds>(clock::now() - began);
    wait -= std::min(wait, spent);
    return std::nullopt;
}

// How often redlock checks a group that is being ended: no signal says that its last process is
// gone.
constexpr auto look_again = 5ms;
// A process in the kernel's uninterruptible sleep survives KILL: redlock waits no longer than this.
constexpr auto longest_death = 5s;
// The longest time for which redlock waits for standard error while CMD runs.
constexpr auto longest_line = 100ms;
constexpr auto between_metrics = 10s;
constexpr std::string_view success_metric = "redlock_run_last_success_timestamp";
constexpr std::size_t shown_of_owner = 8;  // enough to tell runs apart, and too little to release

std::string host_name() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return host.data();
}

// Whether a process in the background was stopped since it used the terminal.
bool wants_terminal(int signal) { return signal == SIGTTIN || signal == SIGTTOU; }

class runner {
public:
    runner(const run_request& request, const configuration& from, const acquire_options& terms,
           const inherited_signals& given);
    int run();

private:
    enum class phase { waiting, running, stopping, releasing, noting, over };

    client_options observed(client_options options);
    void observe(const event& e);
    void acquire();
    void tell_wait();
    void look_at(std::size_t which);
    void say_the_rest();
    void write_metrics();
    std::string success_metrics() const;
    void note_run();
    void noted(const std::string& resource, bool has_ended, error_code ec,
               const std::vector<run_record>& runs);
    bool is_recent(const run_record& run) const;
    void read_successes();
    void note_success(const std::string& resource, std::chrono::system_clock::time_point at);
    bool gives_period_back() const;
    template <class F>
    void after(clock::duration time, phase during, F then);
    void await_signal();
    void on_signal(int signal);
    void on_acquired(error_code ec, lease got);
    void start_command();
    void forward(int signal);
    void tell_reach();
    void on_sibling_stopped(int signal);
    void on_child();
    void on_child_stopped();
    void stop_in_background(int signal);
    void continue_command();
    void suspend(int signal, bool whole_job = false);
    bool take_screen_back();
    void on_child_ended();
    void pass_on_key(bool had_screen);
    void on_lost(loss why);
    void on_silence();
    void stop_command();
    void on_stopped();
    void leave_running(int status);
    void look();
    void release();
    void on_released(error_code ec);
    void free_kept(std::size_t which);
    void finish(int status);
    void end();
    std::string nodes_down() const;
    bool is_over() const { return clock::now() >= lease_.valid_until(); }
    std::string name() const { return quoted(request_.resources); }

    const run_request& request_;
    acquire_options terms_;
    client_options options_;
    std::map<std::string, std::string> down_;  // node: why
    std::string last_detail_;
    std::string renewal_failure_;  // what the nodes said of the last renewals
    narrator says_{request_};
    terminal terminal_;
    sign_pipe signs_{request_.watchdog.has_value()};
    asio::io_context context_{1};
    asio::signal_set signals_{context_};
    job_control job_;
    asio::steady_timer timer_{context_};
    asio::steady_timer rest_timer_{context_};  // for what standard error did not take
    asio::steady_timer metrics_timer_{context_};
    bool metrics_failed_ = false;
    run_record run_;  // without an id until CMD was started
    std::size_t open_notes_ = 0;
    std::optional<error_code> released_;  // while notes are open that it hangs on
    unsigned failures_before_ = 0;  // in the time of --min-hold
    bool is_lost_ = false;          // the lease was, before CMD ended
    std::map<std::string, std::int64_t> last_successes_;  // in s, by the label of the resource
    watchdog watchdog_{context_, request_.watchdog};
    asio::cancellation_signal give_up_;
    first_contact contact_{options_};
    client client_;
    child child_;
    lease lease_;
    std::string owner_;  // its owner value
    phase phase_ = phase::waiting;
    clock::time_point kill_at_{};
    clock::time_point looks_at_{};  // again at the resource, where the wait is not reported
    bool has_stop_signal_ = false;  // one came to redlock, not from the terminal to CMD
    bool is_to_continue_ = false;  // CMD, in a moment
    bool has_hung_up_ = false;  // CMD, which no job control can continue
    bool owns_screen_ = false;     // CMD is, or was before a suspension, in the foreground
    bool has_said_reach_ = false;  // that redlock can't signal CMD
    int stop_status_ = lease_lost;  // the exit status once CMD has been stopped
    int ended_by_ = 0;
    int killed_by_ = 0;  // SIGINT or SIGQUIT, of which CMD died
    int status_ = own_failure;
};

runner::runner(const run_request& request, const configuration& from, const acquire_options& terms,
               const inherited_signals& given)
    : request_(request),
      terms_(terms),
      options_(observed(from.client)),
      job_(context_, given, [this](int signal) { on_signal(signal); }),
      client_(context_.get_executor(), options_),
      child_(given, terminal_, std::any_of(options_.nodes.begin(), options_.nodes.end(),
                                           [](const node_options& n) {
                                               return !n.password_command.empty();
                                           })) {
    // What was ignored when redlock was started stays ignored, for CMD as well.
    for (const int s : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM,
                        SIGPROF, SIGIO, SIGPWR, SIGXCPU, SIGWINCH, SIGTTIN, SIGTTOU}) {
        if (!given.ignores(s)) signals_.add(s);
    }
    for (int s = SIGRTMIN; s <= SIGRTMAX; ++s) {
        if (!given.ignores(s)) signals_.add(s);
    }
    ::signal(SIGCHLD, SIG_DFL);  // ignored, it would take the statuses away
    signals_.add(SIGCHLD);
    given.ignore_own();
}

client_options runner::observed(client_options options) {
    options.on_event = [this](const event& e) { observe(e); };
    return options;
}

void runner::observe(const event& e) {
    says_.happened(e);
    switch (e.kind) {
        case event_kind::node_up: down_.erase(std::string(e.node)); break;
        case event_kind::node_down:
            down_[std::string(e.node)] =
                e.error.message() + (e.detail.empty() ? "" : ": " + std::string(e.detail));
            break;
        case event_kind::refused: last_detail_ = e.detail; break;
        case event_kind::renewed:
            renewal_failure_.clear();
            child_.hold_until(lease_.valid_until(), terms_.loss_margin);
            break;
        case event_kind::renewal_failed: renewal_failure_ = e.detail; break;
        default: break;
    }
    say_the_rest();
}

// Goes on while CMD runs, which may be for days. If the file can't be written, redlock says so
// once, and CMD goes on.
void runner::write_metrics() {
    if (request_.metrics_file.empty()) return;
    const auto text = prometheus_text(client_.stats()) + success_metrics();
    const auto failed = replace_file(request_.metrics_file, text, readers::all);
    if (!failed.empty() && !std::exchange(metrics_failed_, true)) {
        complain("--metrics " + failed + ": name a file in a directory that can be written");
    }
    metrics_timer_.expires_after(between_metrics);
    metrics_timer_.async_wait([this](error_code ec) {
        if (!ec && phase_ != phase::over) write_metrics();
    });
}

// A file from before has the success of an earlier run, which the nodes may have forgotten.
void runner::read_successes() {
    // A pipe would keep it waiting for a writer.
    std::error_code none;
    if (!request_.record || !std::filesystem::is_regular_file(request_.metrics_file, none)) return;
    std::ifstream file(request_.metrics_file);
    const std::string begin = std::string(success_metric) + "{";
    for (std::string line; std::getline(file, line);) {
        const std::size_t end = line.rfind("} ");
        if (!line.starts_with(begin) || end == line.npos) continue;
        const std::string label = line.substr(begin.size(), end - begin.size());
        last_successes_[label] = std::strtoll(line.c_str() + end + 2, nullptr, 10);
    }
}

// Of each resource the latest run that ended with 0; nothing where none is known of.
std::string runner::success_metrics() const {
    if (last_successes_.empty()) return {};
    const std::string metric(success_metric);
    std::string out = "# HELP " + metric + " When a run on record last ended with 0.\n# TYPE " +
                      metric + " gauge\n";
    for (const auto& [label, at] : last_successes_) {
        out += metric + "{" + label + "} " + std::to_string(at) + "\n";
    }
    return out;
}

void runner::note_success(const std::string& resource,
                          std::chrono::system_clock::time_point at) {
    std::string label = "resource=\"";
    for (const char c : shown(resource)) {
        if (c == '\\' || c == '"') label += '\\';
        label += c;
    }
    auto& latest = last_successes_[label + "\""];
    const auto s = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
    latest = std::max<std::int64_t>(latest, s);
}

void runner::say_the_rest() {
    if (!is_behind()) return;
    rest_timer_.expires_after(between_tries);
    rest_timer_.async_wait([this](error_code ec) {
        if (ec || phase_ == phase::over) return;
        catch_up();
        say_the_rest();
    });
}

std::string runner::nodes_down() const {
    const std::size_t shown = detail::shown_of(down_.size());
    std::string out;
    std::size_t named = 0;
    for (const auto& [node, why] : down_) {
        if (named++ == shown) break;
        out.append("; ").append(node).append(": ").append(why);
    }
    if (shown < down_.size()) out += "; and " + std::to_string(down_.size() - shown) + " more";
    return out;
}

int runner::run() {
    hurry(std::min<std::chrono::milliseconds>(longest_line, terms_.loss_margin / 4));
    await_signal();
    read_successes();
    write_metrics();
    acquire();
    while (phase_ != phase::over) context_.run_one();
    write_metrics();
    metrics_timer_.cancel();
    client_.close();
    // Where a key of the terminal ended it, redlock dies of that signal: a shell then ends its
    // script.
    const int last = status_ - signalled;
    const bool by_key = (last == SIGINT || last == SIGQUIT) &&
                        (last == ended_by_ || last == killed_by_);
    // The end is reported last, behind what the nodes still owe.
    const auto leave = [&] {
        says_.ended(status_);
        take_time();
        by_key ? die_of(last) : ::_exit(status_);
    };
    drain(context_, longest_answer(options_), leave);
    if (by_key) leave();
    says_.ended(status_);
    return status_;
}

void runner::acquire() {
    const auto began = clock::now();
    const bool is_met = contact_.wait(context_, [this] { return ended_by_ != 0; });
    if (ended_by_ != 0) return finish(signalled + ended_by_);
    if (!is_met) {  // it has waited all the same
        const auto spent = std::chrono::ceil<std::chrono::milliseconds>(clock::now() - began);
        terms_.wait = std::max<std::chrono::milliseconds>(terms_.wait - spent, 0ms);
    }
    client_.async_acquire_all(
        request_.resources, terms_,
        asio::bind_cancellation_slot(give_up_.slot(), [this](error_code ec, lease got) {
            timer_.cancel();
            if (terminal_.is_ours()) says_.waited();
            on_acquired(ec, std::move(got));
        }));
    if (terms_.wait > 0ms) is_met ? tell_wait() : look_at(0);
}

void runner::tell_wait() {
    after(says_.pause(), phase::waiting, [this] {
        if (says_.draws() && !terminal_.is_ours()) return tell_wait();
        const bool is_due = clock::now() >= looks_at_;  // whether the wait is in vain
        says_.tells_of_contention() || client_.stats().quorum == 0 || is_due ? look_at(0)
                                                                             : tell_wait();
    });
}

// Of several resources the first that is held tells for whom it waits.
void runner::look_at(std::size_t which) {
    looks_at_ = clock::now() + 1min;
    auto then = [this, which](error_code why, const resource_state& state) {
        if (phase_ != phase::waiting) return;
        if (client_.stats().quorum == 0) {
            says_.without_quorum(state, nodes_down());
            return tell_wait();
        }
        const std::string in_vain = terms_.slots == 0 ? why_in_vain(state) : "";
        // A terminal's line says it beside the holder.
        if (!in_vain.empty() && !(says_.draws() && state.decided)) {
            says_.in_vain(in_vain);
            return tell_wait();
        }
        if (!why && !state.held && which + 1 < request_.resources.size()) return look_at(which + 1);
        if (!why && says_.tells_of_contention()) says_.waiting(state);
        tell_wait();
    };
    client_.async_inspect(request_.resources[which], std::move(then));
}

// Calls `then` if the phase is still that one, and the timer was not set again meanwhile.
template <class F>
void runner::after(clock::duration time, phase during, F then) {
    timer_.expires_after(time);
    timer_.async_wait([this, during, then](error_code ec) {
        if (!ec && phase_ == during) then();
    });
}

void runner::await_signal() {
    signals_.async_wait([this](error_code ec, int signal) {
        if (ec) return;
        on_signal(signal);
        if (phase_ != phase::over) await_signal();
    });
}

void runner::on_signal(int signal) {
    if (signal == SIGCHLD) return on_child();
    switch (phase_) {
        case phase::waiting:
            if (signal == SIGWINCH || signal == SIGCONT) return;
            if (signal == SIGTSTP || wants_terminal(signal)) return suspend(signal);
            if (ended_by_ != 0) return;
            ended_by_ = signal;
            return give_up_.emit(asio::cancellation_type::terminal);
        case phase::running:
            if (wants_terminal(signal)) return on_sibling_stopped(signal);
            if (signal == SIGCONT) {
                has_stop_signal_ = false;
                return continue_command();
            }
            return forward(signal);
        case phase::stopping: return wants_terminal(signal) ? void() : child_.send(signal);
        case phase::noting:
            if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) end();
            return;
        case phase::releasing:
        case phase::over: return;
    }
}

void runner::forward(int signal) {
    // Redlock stops only when CMD did: one that ignores it still needs its lease renewed.
    if (signal == SIGTSTP || wants_terminal(signal)) has_stop_signal_ = true;
    child_.send(signal);
    if (signal != SIGCONT && signal != SIGWINCH) tell_reach();
}

void runner::tell_reach() {
    if (has_said_reach_ || !child_.is_out_of_reach()) return;
    has_said_reach_ = true;
    complain("CMD, process " + std::to_string(child_.pid()) +
             ", runs as another user, so redlock can't signal it and can't end it when the lease "
             "of " + name() + " is lost: start redlock as that user, as in sudo redlock run");
    say_the_rest();
}

// A pager or another process of redlock's own group, which the signal may have stopped, wants the
// terminal.
void runner::on_sibling_stopped(int signal) {
    if (terminal_.take_back_from(child_.pid())) {
        owns_screen_ = false;
        ::kill(0, SIGCONT);
    } else if (!terminal_.is_ours()) {
        forward(signal);  // the whole job is in the background, and stops
    }
}

void runner::on_acquired(error_code ec, lease got) {
    // A lease that came at the last moment is given back as it goes.
    if (ended_by_ != 0) return finish(signalled + ended_by_);
    if (ec) {
        const refusal why{ec, {got.votes().begin(), got.votes().end()}};
        if (is_ordinary_contention(why) && !says_.tells_of_contention()) {
            return finish(request_.contended_status);
        }
        return finish(explain(why, request_.resources, last_detail_, request_.contended_status));
    }
    lease_ = std::move(got);
    says_.granted(lease_);
    say_the_rest();
    client_.async_lost(lease_, [this](error_code ended, loss why) {
        if (!ended) on_lost(why);
    });
    start_command();
}

void runner::start_command() {
    owner_ = lease_.owner().to_string() + "@" + options_.client_name;
    auto all = locks_around();
    for (const auto& one : request_.resources) all.push_back({one, owner_, lease_.fence()});
    environment variables =
        variables_for(request_.resources, all.back(), lease_.slots(), request_.lease.note, all);
    const environment for_signs = watchdog_.variables(signs_);
    variables.insert(variables.end(), for_signs.begin(), for_signs.end());
    phase_ = phase::running;
    // In a script or a pipeline CMD gets the terminal when it needs it: until then keys reach all.
    owns_screen_ = terminal_.is_ours_alone();
    child_.hold_until(lease_.valid_until(), terms_.loss_margin);
    try {
        child_.start(request_.command, variables, owns_screen_);
        watchdog_.start(signs_, [this] { on_silence(); });
        run_ = {.id = owner_.substr(0, shown_of_owner) + "-" + std::to_string(lease_.fence()),
                .start = std::chrono::system_clock::now(),
                .host = host_name(),
                .pid = child_.pid(),
                .fence = lease_.fence()};
        note_run();
    } catch (const std::system_error& e) {
        complain(std::string("CMD can't be started: ") + e.what() +
                 std::string(remedy_of_limit(error_code(e.code()))));
        status_ = own_failure;
        release();
    }
}

void runner::on_child() {
    switch (child_.reap()) {
        case child::news::none: break;
        case child::news::stopped:
            if (phase_ == phase::running) on_child_stopped();
            break;
        case child::news::ended:
            if (phase_ == phase::running) return on_child_ended();
            break;
    }
    if (phase_ == phase::stopping) look();
}

void runner::on_child_stopped() {
    // It stopped before redlock was continued: the second process of its group is seen later.
    if (is_to_continue_) return;
    const int signal = child_.stop_signal();
    const bool wants_screen = wants_terminal(signal);
    if (wants_screen && (terminal_.is_ours() || terminal_.is_with(child_.pid()))) {
        owns_screen_ = true;
        terminal_.hand_to(child_.pid());
        return child_.send(SIGCONT);
    }
    if (signal == SIGSTOP) return;  // sent by another process: the lease is kept
    if (std::exchange(has_stop_signal_, false)) return suspend(signal);
    if (!terminal_.exists()) return;
    if (wants_screen) return stop_in_background(signal);
    if (owns_screen_) suspend(signal, child_.was_stopped_as_group());
}

// CMD uses the terminal, and redlock's group is in the background, where the kernel would have
// stopped both: so it does, if they stand in one job.
void runner::stop_in_background(int signal) {
    if (job_.is_continued()) return;  // and continues CMD, once that is read
    if (terminal_.stop_group_in_background(signal)) return suspend(signal);
    // Without redlock CMD's call would fail. As the kernel ends what nobody can continue:
    if (std::exchange(has_hung_up_, true)) return;
    child_.send(SIGHUP);
    child_.send(SIGCONT);
}

// Stops redlock as a program without a handler would be. Nothing is renewed meanwhile, so what the
// clock says decides whether CMD may go on.
void runner::suspend(int signal, bool whole_job) {
    if (owns_screen_) terminal_.take_back_from(child_.pid());
    job_.stop(signal, whole_job);
    if (phase_ == phase::running) continue_command();
}

// A signal that came while redlock was stopped reaches CMD first: timeout(1) sends TERM, then CONT.
void runner::continue_command() {
    is_to_continue_ = true;
    after(look_again, phase::running, [this] {
        is_to_continue_ = false;
        if (is_over()) return;  // on_lost is due, and kills it as it sleeps
        if (owns_screen_ && terminal_.is_ours()) terminal_.hand_to(child_.pid());
        watchdog_.start_again();
        child_.send(SIGCONT);
    });
}

// Of a CMD that is over. Whether it had it.
bool runner::take_screen_back() {
    const bool had_it = terminal_.take_back_from(child_.pid());
    if (had_it && child_.death_signal() != 0) terminal_.restore_modes();
    return had_it;
}

void runner::on_child_ended() {
    const bool had_screen = take_screen_back();
    status_ = child_.exit_status();
    killed_by_ = child_.death_signal();
    pass_on_key(had_screen);
    if (child_.was_out_of_time()) return on_lost(loss::expired);
    if (const int why = child_.exec_error(); why != 0) {
        complain(explain_exec(request_.command, why));
    } else if (is_over()) {
        complain("the lease of " + name() + " ended before CMD did, which ended with status " +
                 std::to_string(status_) + ": check what CMD wrote last");
        status_ = lease_lost;
        is_lost_ = true;
    }
    release();
}

// A key that CMD's group alone received, being in the foreground, is meant for the whole script or
// pipeline.
void runner::pass_on_key(bool had_screen) {
    if (!had_screen) return;
    ::kill(0, SIGCONT);  // a process of redlock's group may have been stopped meanwhile
    if (child_.died_as_group()) ::kill(0, killed_by_);
}

void runner::on_lost(loss why) {
    if (phase_ != phase::running) return;
    is_lost_ = true;
    std::string line = "the lease of " + name() + " is lost, CMD is stopped: ";
    switch (why) {
        case loss::expired:
            line += terms_.renew ? "redlock or this machine stood still, so that no renewal was "
                                   "sent in time; lengthen --ttl to outlast that"
                                 : "it was not renewed; lengthen --ttl or leave out --no-renew";
            break;
        case loss::taken:
            line +=
                "a quorum of nodes says that the key is gone or has another owner; see redlock "
                "inspect; an operator may have taken it (release --force), or a program deletes "
                "keys";
            break;
        case loss::unreachable:
            line += "no quorum of nodes renewed it";
            if (!renewal_failure_.empty()) {
                line += ": " + renewal_failure_;
            } else {
                line += nodes_down().empty() ? "; check the nodes" : nodes_down();
            }
            break;
        case loss::max_hold: line += "--max-hold is over; lengthen it if CMD needs longer"; break;
        case loss::stalled: line += to_string(why); break;  // --watchdog is not the lease's
    }
    complain(line);
    stop_command();
}

void runner::on_silence() {
    if (phase_ != phase::running) return;
    complain("CMD gave no sign of life for " + format_duration(*request_.watchdog) +
             ", and is stopped: have it write to REDLOCK_WATCHDOG_FD more often, or lengthen "
             "--watchdog");
    stop_status_ = no_sign;
    stop_command();
}

void runner::stop_command() {
    phase_ = phase::stopping;
    const auto now = clock::now();
    // A key that was taken may have another owner already, however long it was valid: so CMD gets
    // no more time than the margin.
    const auto left = std::min<clock::duration>(lease_.valid_until() - now, terms_.loss_margin);
    kill_at_ = now + left / 2;
    if (left > 0ns) {
        child_.send(SIGTERM);
        child_.send(SIGCONT);  // one that sleeps can't obey
    }
    tell_reach();
    look();
}

void runner::look() {
    child_.reap();
    const auto now = clock::now();
    if (child_.has_ended() && child_.group_is_gone()) return on_stopped();
    // Again each time: a process may have been made meanwhile.
    if (now >= kill_at_) child_.send(SIGKILL);
    if (now >= kill_at_ && child_.is_out_of_reach()) {
        tell_reach();
        return leave_running(stop_status_);
    }
    if (now >= kill_at_ + longest_death) {
        complain("processes of group " + std::to_string(child_.pid()) +
                 " survive SIGKILL and may still work on " + name() + ": look at them with ps");
        return leave_running(own_failure);
    }
    after(look_again, phase::stopping, [this] { look(); });
}

void runner::on_stopped() {
    take_screen_back();
    status_ = stop_status_;
    status_ == lease_lost ? finish(status_) : release();
}

// What can't be ended works on: a lease that is not lost keeps others out until its ttl is over.
void runner::leave_running(int status) {
    if (stop_status_ != lease_lost) lease_.detach();
    finish(status);
}

void runner::release() {
    phase_ = phase::releasing;
    client_.async_release(std::move(lease_), [this](error_code ec) {
        if (phase_ == phase::releasing) on_released(ec);
    });
    // Where nodes hang, the release reaches them later or the ttl ends the key.
    after(longest_answer(options_) + options_.connect_timeout, phase::releasing,
          [this] { on_released(errc::no_quorum); });
}

// Of a CMD that failed, where it may be tried again.
bool runner::gives_period_back() const {
    return request_.retries && status_ != success && !is_lost_ &&
           failures_before_ < *request_.retries;
}

// CMD did not begin, or failed, so nothing is kept for --min-hold: another machine may have what it
// needs.
void runner::free_kept(std::size_t which) {
    if (phase_ != phase::releasing) return;
    if (which == request_.resources.size()) return finish(status_);
    client_.async_inspect(request_.resources[which], [=, this](error_code, const auto& state) {
        const std::string owner = abbreviate_owner(owner_);
        resource_state ours;
        ours.resource = state.resource;
        if (state.kept && state.owner == owner) ours.owner = owner;
        for (const slot_state& slot : state.slots) {
            if (slot.kept && slot.owner == owner) ours.slots.push_back(slot);
        }
        const bool has_none = ours.owner.empty() && ours.slots.empty();
        if (phase_ != phase::releasing || has_none) return free_kept(which + 1);
        client_.async_revoke(ours, [=, this](error_code, const auto&) { free_kept(which + 1); });
    });
}

void runner::on_released(error_code ec) {
    if (request_.retries && open_notes_ > 0) {  // which tell how often it failed
        if (!released_) released_ = ec;
        return;
    }
    if (ec == errc::not_held && status_ != own_failure && status_ != lease_lost) {
        complain("the lease of " + name() + " was gone from a quorum of nodes before CMD ended, "
                 "which ended with status " + std::to_string(status_) +
                 ": an operator may have taken it (release --force), or a program deletes keys; "
                 "check what CMD wrote last");
        status_ = lease_lost;
        is_lost_ = true;
    } else if (ec == errc::no_quorum) {
        complain("the release of " + name() + " reached no quorum of nodes" + nodes_down() +
                 "; the lock is free at the latest when its ttl" +
                 (terms_.min_hold > 0ms ? " and --min-hold are over" : " is over"));
    } else if (terms_.min_hold > 0ms &&
               (child_.exec_error() != 0 || run_.id.empty() || gives_period_back())) {
        after(longest_answer(options_) + options_.connect_timeout, phase::releasing,
              [this] { finish(status_); });
        return free_kept(0);
    }
    finish(status_);
}

// At the beginning and at the end of CMD, for each resource. The lock hangs on none of it.
void runner::note_run() {
    if (!request_.record) return;
    for (const std::string& one : request_.resources) {
        ++open_notes_;
        client_.async_record_run(
            one, run_, *request_.record,
            [this, one, has_ended = run_.end.has_value()](
                error_code ec, const std::vector<run_record>& runs) {
                --open_notes_;
                noted(one, has_ended, ec, runs);
                if (open_notes_ > 0) return;
                if (phase_ == phase::noting) end();
                if (phase_ == phase::releasing && released_) on_released(*released_);
            });
    }
}

// What was noted at the beginning tells how often the command failed before.
void runner::noted(const std::string& resource, bool has_ended, error_code ec,
                   const std::vector<run_record>& runs) {
    if (ec) {
        complain(std::string("the ") + (has_ended ? "end" : "beginning") + " of this run of '" +
                 resource + "' is not on record on a quorum of nodes: " + ec.message() +
                 nodes_down());
        // Where the nodes can't tell how often the command failed, it is not tried again.
        failures_before_ = std::numeric_limits<unsigned>::max();
    }
    unsigned failures = 0;
    for (const run_record& run : runs) {
        if (run.end && run.status == success) note_success(resource, *run.end);
        // One without an end died, or gave its period back and has still to note its end; of slots
        // others may be at work.
        const bool has_failed = run.end ? run.is_started && !run.is_lost && run.status != success
                                        : request_.lease.slots == 0;
        if (run.id != run_.id && has_failed && is_recent(run)) ++failures;
    }
    failures_before_ = std::max(failures_before_, failures);
}

// In the time of --min-hold; by the clocks of the nodes where there are fences.
bool runner::is_recent(const run_record& run) const {
    if (run.fence == 0 || run_.fence == 0) return run_.start - run.start < terms_.min_hold;
    const auto us = static_cast<std::int64_t>(run_.fence) - static_cast<std::int64_t>(run.fence);
    return std::chrono::microseconds(us) < terms_.min_hold;
}

// What does not answer in time is not waited for.
void runner::finish(int status) {
    status_ = status;
    if (!request_.record || run_.id.empty()) return end();
    run_.end = std::chrono::system_clock::now();
    run_.status = status;
    run_.signal = child_.death_signal();
    run_.is_lost = is_lost_;
    run_.is_started = child_.exec_error() == 0;
    if (status == success) {
        for (const auto& one : request_.resources) note_success(one, *run_.end);
    }
    phase_ = phase::noting;
    note_run();
    after(longest_answer(options_) + options_.connect_timeout, phase::noting, [this] { end(); });
}

void runner::end() {
    phase_ = phase::over;
    signals_.cancel();
    job_.close();
    timer_.cancel();
    rest_timer_.cancel();
    watchdog_.stop();
}

// Why they can't be held at once; empty where they can.
std::string check(const std::vector<std::string>& resources, const client_options& options) {
    if (auto why = validate_resources(options, resources); !why.empty()) return why;
    const bool has_line_end = std::any_of(resources.begin(), resources.end(), [](const auto& one) {
        return one.find('\n') != one.npos;
    });
    if (resources.size() > 1 && has_line_end) {
        return "of several none may have a line end in its name: REDLOCK_RESOURCE has one a line";
    }
    return {};
}

}  // namespace

int run(const run_request& request, const inherited_signals& given) {
    if (request.json) complain_in_json();
    const auto found = find_nodes(request.nodes);
    if (const auto why = check(request.resources, found.client); !why.empty()) {
        fail("RESOURCE: " + why);
    }
    if (request.watchdog && *request.watchdog <= 0ms) fail("--watchdog must be longer than 0");
    acquire_options terms;
    if (const auto why = settle(request.lease, found, terms); !why.empty()) fail(why);
    if (request.record && *request.record <= 0ms) fail("--record must be longer than 0");
    const bool is_recorded_so_long = request.record.value_or(0ms) >= terms.min_hold;
    if (request.retries && (terms.min_hold <= 0ms || !is_recorded_so_long)) {
        fail("--retry-on-failure needs --min-hold, and a --record that is not shorter");
    }
    if (const auto status = run_under_outer_lock(request, found, terms.wait, given)) return *status;
    return runner(request, found, terms, given).run();
}

}  // namespace redlock::tool
