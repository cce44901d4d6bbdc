// Reads the command line of redlock into the work of its command.
// SPDX-License-Identifier: MIT
#include "tools/command_line.hpp"

#include "tools/commands.hpp"
#include "tools/completion.hpp"
#include "tools/exit_status.hpp"
#include "tools/formats.hpp"
#include "tools/help.hpp"
#include "tools/report.hpp"

#include <redlock/detail/nearest.hpp>
#include <redlock/detail/waiting_time.hpp>
#include <redlock/options.hpp>
#include <redlock/run_record.hpp>
#include <redlock/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace {

using std::chrono::milliseconds;

constexpr const char* statuses =
    R"(As with flock(1), without -- the first word is the RESOURCE, and what follows is CMD, or -c
and a line for sh. Examples: redlock run -w 5 RESOURCE CMD -l,
redlock run -n RESOURCE -c 'CMD | CMD'. With -- all words before it are RESOURCEs. A CMD that
has a -- of its own needs one before it.

Exit status: CMD's own; 128+n if signal n ended it, or redlock while it waited; 120 another
holder, or the --min-hold of the last one, kept a RESOURCE until the wait was over; 121 no
quorum of nodes; 122 the lease was lost and CMD stopped; 124 CMD gave no sign of life and was
stopped (--watchdog); 125 redlock itself failed, or the key of RESOURCE holds other data; 126
CMD can't be executed; 127 CMD was not found.

With status 120 nothing is written where standard error is no terminal, so that cron sends no
mail; --verbose names the holder of the lock, and --quiet says it nowhere, nor that redlock
waits. All that waiting can't help, such as a key without expiry, and all that fails is said.

With --watchdog CMD writes a byte to the descriptor REDLOCK_WATCHDOG_FD more often than that, as
in echo >&"$REDLOCK_WATCHDOG_FD". What CMD sends to NOTIFY_SOCKET, as sd_notify(3) does, goes to
systemd as without redlock; the unit needs NotifyAccess=all.

CMD finds REDLOCK_RESOURCE (of several one a line), REDLOCK_FENCE and REDLOCK_OWNER in its
environment, with --slots REDLOCK_SLOT, and with --note REDLOCK_NOTE. A redlock run inside CMD
of the same RESOURCE does not wait for this one, which it finds by REDLOCK_HELD: it runs its CMD
under the lock that is held already.

CMD has the signals blocked and ignored, and of the standard streams those closed, that redlock
was started with. Redlock itself blocks no signal, and ignores those that it found ignored.

When the lease is lost, CMD's whole process group gets TERM, and KILL at half of the margin, so
that it is gone before the lease ends. A second process of redlock does that where redlock is
stopped (SIGSTOP) or hangs, and kills the group at once where redlock is killed (KILL, out of
memory). If that one is killed, too, the kernel kills CMD, but not what CMD started; if both are
stopped, nobody ends CMD. Redlock can't end processes that leave the group, nor those that run
as another user (sudo): it reports the latter, and ends with 122 all the same. To be sure of
all, run redlock in a unit of systemd or in a container, which end together. Processes that CMD
leaves in the background when it ends run on without the lease.)";

constexpr const char* durations =
    R"(A DURATION is a number with a unit, or several: 500ms, 1.5s, 1m30s, 2h.

)";

constexpr const char* about_acquire =
    R"(Nobody renews the lock: it ends after --ttl, unless redlock extend prolongs it. The token
goes to standard output, or to --token-file. The token is a secret: any program that has it
can release the lock.

Exit status: 0; 120 another holder kept a RESOURCE until the wait was over; 121 no quorum of
nodes; 128+n if signal n ended it; 125 on failure, or where the key of a RESOURCE holds other
data.)";

constexpr const char* about_token =
    R"(The token comes from --token-file, else from REDLOCK_TOKEN, else from standard input.

Exit status: 0; 121 no quorum of nodes; 123 the token is none, or its lease is not held any
more: no other lease was touched, and what was left of this one on a node is released; 125 on
failure, such as an option out of its range.)";

constexpr const char* about_force =
    R"(

A program that renews the lease meanwhile loses it at its next renewal, a third of its ttl
later, and can't take it back.

With --force RESOURCE: takes RESOURCE from those that hold it, without their token, and prints
whose lease it revoked. It asks for confirmation first. The program learns of it when it renews
its lease, at the latest a ttl later: until then it may go on beside the next holder, and only
the fence tells them apart. It can't come back.

Also removes a string that another program keeps under that name, with or without expiry. What
is no string is no lock: it is left alone, with status 125.)";

constexpr const char* about_list =
    R"(The nodes look at all their keys for this; the user needs the right +scan. What another
program keeps under a name is in the way of a lock, too, and may be a lock of another library:
--all shows it.

Exit status: 0; 121 if fewer than a quorum of nodes answered; 125 on failure.)";

constexpr const char* about_watch =
    R"(First names the holder of each RESOURCE, and then says each change, until it is ended (^C).
It looks four to eight times in a second: what is shorter may not be seen. It says so, too, when
fewer than a quorum of nodes answer.

Exit status: 125 on failure.)";

constexpr const char* about_doctor =
    R"(Looks at every node: reachable, role, persistence, eviction policy, memory, clock, round
trip, rights of the user, other clients' settings. One line for each finding. It takes no
lock and writes no node record; whether a node takes writes it tries on a key of its own,
<prefix>redlock:probe. The record of each node names the list of nodes: name them all.

With --ready: says of each NODE that may not vote, such as one in quarantine, why, and ends with
1; restart the next node when it ends with 0.

Exit status: 0 all is well; 1 warnings; 2 errors; 125 on failure.)";

constexpr const char* about_init =
    R"(A node that may have lost its data has no vote until every earlier lease has ended. If an
operator knows that no lease is valid, as on a first start with a node missing, init gives
the nodes their vote at once. If a program does hold a lock, a second holder gets in. On a
terminal init shows what is held, and asks first.

A quorum of nodes has to take it; a warning names the others. A node that is back later votes
when ttl_max is over, or at once if its server ran on. If it belongs to another list of nodes,
no lock is granted from then until init is run again.

Where the clocks of all nodes went back, fences go on above those drawn before. With
--lower-fences they follow the clocks again: later holders have lower fences than earlier
ones, and a store that remembers an earlier one refuses them.

Exit status: 0; 121 if fewer than a quorum of nodes took it; 125 on failure.)";

constexpr const char* about_commit =
    R"(While the list of nodes changes, the configuration names the nodes of both lists, those that
go marked as leaving, new ones as joining. When every program has that joint list, commit
ends the change: the new list stands, and programs that have it alone may be started. Locks
that are held stay held. It asks for confirmation first, and looks which programs are
connected. When a quorum of the new list votes, it closes the nodes of the old list for all
programs with another list, and then writes the new one.

It may be repeated, and goes on where it ended. What it can't see: programs of other libraries
or earlier versions, those without the right +client|setname, and those that are not connected
now.

Exit status: 0 when every node is of the list that stands; 1 when that stands and a node has
still to follow, or a program with another list was met; 120 if programs with another list
are connected, or may be, or another list stands, or may; 121 if no majority of nodes took
part, or has a vote in the new list; 125 on failure, or where the list does not change.)";

constexpr const char* about_bench =
    R"(Three parts, a line each: one acquire at a time; many at once; from the release of one
program to the grant of another that waits. It asks for confirmation first, uses resources
of its own, whose names begin with redlock-bench:, and releases them; their fences run out
within 20 s.

Exit status: 0; 121 no quorum of nodes; 128+n if signal n ended it; 125 on failure.)";

// CLI11 takes a word "[a,b]" for a list of two. Such a word gets a mark in front while it parses.
constexpr char list_mark = '\x01';

std::string marked(const std::string& word) {
    const bool is_list = word.starts_with('[') && word.ends_with(']');
    return is_list || word.starts_with(list_mark) ? list_mark + word : word;
}

std::string unmark(std::string& word) {
    if (word.starts_with(list_mark)) word.erase(0, 1);
    return {};  // it is never wrong
}

const CLI::Validator unmarking(unmark, "");

command_line wrong_usage(std::string what) { return {{}, std::move(what)}; }

command_line printing(std::string text) {
    return {[text = std::move(text)](const inherited_signals&) {
        return print(text) ? success : own_failure;
    }};
}

class parser {
public:
    parser();
    command_line parse(std::vector<std::string> words);
    /// See `asks_for_candidates`.
    std::string candidates(std::vector<std::string> words) const;

private:
    void add_run();
    void add_token_commands();
    void add_looks();
    void add_changes();
    void add_help();
    CLI::App& add(const char* name, const char* text, const std::string& footer,
                  std::function<command_line()> result);
    template <class Request, class F>
    CLI::App& add(const char* name, const char* text, const std::string& footer, Request& request,
                  F perform);
    template <class Request, class F>
    command_line with_nodes(Request request, F perform) const;
    void lease_terms(CLI::App& to, lease_request& into);
    void conflict_status(CLI::App& to, int& into, const std::string& text);
    void duration(CLI::App& to, const std::string& name, std::optional<milliseconds>& into,
                  const std::string& text);
    void wait_terms(CLI::App& to, lease_request& into);
    void flock_options();
    command_line run() const;
    command_line release() const;
    command_line bench() const;
    command_line help() const;
    std::string contradiction() const;
    const CLI::Option* option_of(const std::string& name, const CLI::App& of) const;
    bool takes_next(const std::string& word, const CLI::App& of) const;
    std::size_t first_plain(const std::vector<std::string>& words, std::size_t from,
                            const CLI::App& of) const;
    std::vector<std::string> take_command(std::vector<std::string>& words) const;
    void part_empty_values(std::vector<std::string>& words) const;
    std::string choice_of_commands() const;
    std::string unexpected() const;
    std::string no_such_option(const std::string& word) const;
    std::string see_help() const;

    CLI::App app_{"Locks over a quorum of independent Redis masters", "redlock"};
    std::map<const CLI::App*, std::function<command_line()>> results_;  // of each command
    CLI::App* run_ = nullptr;
    // An empty name is that of a variable which was not set: it must not mean another place.
    CLI::Option* file(CLI::App& to, const char* name, std::string& into, const char* text) {
        CLI::Option* const out = to.add_option(name, into, text)->type_name("FILE");
        files_.push_back(out);
        return out;
    }

    std::vector<const CLI::Option*> files_;
    node_source nodes_;
    bool json_ = false;
    bool version_ = false;
    bool wants_help_ = false;
    std::string topic_;
    std::string shell_;
    bool wants_manual_ = false;
    run_request running_;
    std::vector<std::string> command_;  // CMD and its arguments
    bool at_once_ = false;
    bool exclusive_ = false;
    bool closes_ = false;   // nothing hangs on it
    bool becomes_ = false;
    std::optional<milliseconds> seconds_;
    std::optional<std::string> line_;
    acquire_request acquiring_;
    extend_request extending_;
    release_request releasing_;
    inspect_request inspecting_;
    last_request recalling_;
    list_request listing_;
    watch_request watching_;
    doctor_request examining_;
    init_request declaring_;
    commit_request committing_;
    bench_request benching_;
    std::optional<milliseconds> each_;
};

parser::parser() {
    app_.set_help_flag();
    app_.require_subcommand(0, 1);
    app_.allow_extras();  // they are refused here, in words of this command
    app_.fallthrough();
    app_.add_flag("-h,--help", wants_help_, "Say how a command is used");
    app_.add_flag("--version", version_, "Print the version");
    app_.add_option(
            "--node", nodes_.uris,
            "A node: host:port, redis://[user:password@]host:port[/database], rediss:// for TLS, "
            "or unix:///path; once per node")
        ->type_name("URI")
        ->allow_extra_args(false);
    file(app_, "--config", nodes_.config_file, "A JSON file that names the nodes");
    app_.add_flag("--json", json_,
                  "Print JSON; run writes what it does to standard error, an object a line");
    file(app_, "--tls-ca", nodes_.tls.ca_file,
         "Trusted roots of the nodes of --node rediss://; without: the system's");
    file(app_, "--tls-cert", nodes_.tls.cert_file,
         "Certificate of this client for them, and its chain");
    file(app_, "--tls-key", nodes_.tls.key_file, "The private key of --tls-cert");
    app_.add_flag("--verbose", nodes_.verbose,
                  "Say also where the nodes come from, what is doubtful in the configuration, and, "
                  "run, what it waits for");
    app_.footer("redlock help COMMAND explains one command.");

    add_run();
    add_token_commands();
    add_looks();
    add_changes();
    add_help();
    for (auto* command : app_.get_subcommands({})) {
        command->set_help_flag();
        for (auto* option : command->get_options()) option->transform(unmarking);
    }
    for (auto* option : app_.get_options()) option->transform(unmarking);
}

CLI::App& parser::add(const char* name, const char* text, const std::string& footer,
                      std::function<command_line()> result) {
    CLI::App* const command = app_.add_subcommand(name, text);
    command->footer(footer);
    results_[command] = std::move(result);
    return *command;
}

// A command that performs its request on the nodes.
template <class Request, class F>
CLI::App& parser::add(const char* name, const char* text, const std::string& footer,
                      Request& request, F perform) {
    return add(name, text, footer, [this, &request, perform] {
        return with_nodes(request, perform);
    });
}

// `perform` takes the request, and for some commands the signals that redlock was given.
template <class Request, class F>
command_line parser::with_nodes(Request request, F perform) const {
    request.nodes = nodes_;
    request.json = json_;
    return {[request = std::move(request), perform](const inherited_signals& given) {
        if constexpr (std::is_invocable_v<F, const Request&, const inherited_signals&>) {
            return perform(request, given);
        } else {
            return perform(request);
        }
    }};
}

void parser::lease_terms(CLI::App& to, lease_request& into) {
    wait_terms(to, into);
    to.add_flag("-s,--shared", into.shared,
                "Share the lock with others that ask with --shared, and "
                "with nobody else");
    to.add_option("--note", into.note,
                  "A line that others see beside the holder, of " +
                      std::to_string(max_note_bytes) + " bytes at most; it is no secret")
        ->type_name("NOTE");
    to.add_option("--slots", into.slots,
                  "Hold one of K slots of RESOURCE, at most " + std::to_string(max_slots) +
                      ", so that at most K are held at once; the slots "
                  "are another lock than RESOURCE itself")
        ->type_name("K")
        ->check(CLI::Range(1, static_cast<int>(max_slots)));
    to.add_option("--permits", into.permits,
                  "Hold so many of the slots at once, or none; at most " +
                      std::to_string(max_permits))
        ->type_name("N")
        ->check(CLI::Range(1, static_cast<int>(max_permits)));
}

void parser::conflict_status(CLI::App& to, int& into, const std::string& text) {
    to.add_option("-E,--conflict-exit-code", into, text)->type_name("N")->check(CLI::Range(0, 255));
}

void parser::wait_terms(CLI::App& to, lease_request& into) {
    const auto read = [&into](const std::string& word) {
        milliseconds value = detail::longest_wait;
        const auto wrong = word == "forever" ? "" : parse_duration(word, value);
        if (!wrong.empty()) throw CLI::ValidationError("--wait", wrong + ", or forever");
        into.wait = value;
    };
    to.add_option_function<std::string>("--wait", read,
                                        "The longest time to wait for the lock, or forever; "
                                        "without: try once")
        ->type_name("DURATION");
}

// Those that flock(1) has beside -s and -E.
void parser::flock_options() {
    run_->add_flag("-n,--nonblock", at_once_, "Don't wait for the lock, as without --wait");
    const auto read = [this](const std::string& word) {
        milliseconds value{};
        const auto wrong = parse_seconds(word, value);
        if (!wrong.empty()) throw CLI::ValidationError("-w, --timeout", wrong);
        seconds_ = std::min(value, detail::longest_wait);
    };
    run_->add_option_function<std::string>("-w,--timeout", read,
                                           "The same as --wait, in seconds: 5 or 0.5")
        ->type_name("SECONDS");
    run_->add_flag("-x,--exclusive", exclusive_, "Hold the lock alone, as without --shared");
    run_->add_flag("-e", exclusive_, "The same as -x");
    run_->add_flag("-o,--close", closes_, "As it is: CMD inherits nothing that keeps the lock");
    run_->add_flag("-F,--no-fork", becomes_, "Refused: redlock renews the lease while CMD runs");
    run_->add_option_function<std::string>(
            "-c,--command", [this](const std::string& line) { line_ = line; },
            "In place of CMD: a line for sh, which may also follow the RESOURCE")
        ->type_name("COMMAND");
}

void parser::add_run() {
    run_ = &add("run", "Run a command while holding a lock", std::string(durations) + statuses,
                [this] { return run(); });
    duration(*run_, "--ttl", running_.lease.ttl,
             "Length of the lease, such as 10s; renewed at a third");
    lease_terms(*run_, running_.lease);
    flock_options();
    duration(*run_, "--max-hold", running_.lease.max_hold, "Stop CMD after this time; 0s: never");
    duration(*run_, "--min-hold", running_.lease.min_hold,
             "Keep others out for this time also where CMD ends sooner, so that of machines that "
             "start within it one runs CMD: once per period");
    duration(*run_, "--watchdog", running_.watchdog,
             "Stop CMD when it has given no sign of life for this time");
    run_->add_flag("--quiet", running_.quiet,
                   "Never say that another holder has the lock, nor that redlock waits for it");
    duration(*run_, "--margin", running_.lease.margin,
             "Time in which to end CMD when the lease is lost; without: a quarter of the ttl or of "
             "--max-hold, at most 2s");
    run_->add_flag("--no-renew", running_.lease.no_renew, "Let the lease end after one ttl");
    duration(*run_, "--record", running_.record,
             "Note on the nodes when the run began and how it ended, and keep that for this time, "
             "such as 30d: redlock last shows it");
    run_->add_option("--retry-on-failure", running_.retries,
                     "With --min-hold and --record: a CMD that fails keeps nobody out, at most N "
                     "times, up to 10, in the time of --min-hold")
        ->type_name("N")
        ->check(CLI::Range(0, 10));  // of the runs that are kept
    file(*run_, "--metrics", running_.metrics_file,
         "Write metrics in Prometheus' text form here, every 10s and at the end");
    conflict_status(*run_, running_.contended_status,
                    "Exit status in place of 120, which CMD may use itself");
    run_->add_option("RESOURCE", running_.resources,
                     "What to lock, all or none of them; after -- if one begins with -")
        ->required();
}

void parser::add_token_commands() {
    CLI::App& acquire = add("acquire", "Take a lock that later commands extend and release",
                            std::string(durations) + about_acquire, acquiring_, tool::acquire);
    duration(acquire, "--ttl", acquiring_.lease.ttl, "Length of the lease, such as 50s");
    lease_terms(acquire, acquiring_.lease);
    file(acquire, "--token-file", acquiring_.token_file,
         "Write the token here, for nobody else to read");
    conflict_status(acquire, acquiring_.contended_status, "Exit status in place of 120");
    acquire.add_option("RESOURCE", acquiring_.resources, "What to lock, all or none of them")
        ->required();

    CLI::App& extend = add("extend", "Prolong the lock that a token proves",
                           std::string(durations) + about_token, extending_, tool::extend);
    duration(extend, "--ttl", extending_.ttl,
             "At least so long from now on, such as 50s; it shortens nothing");
    CLI::App& release = add("release", "Release the lock that a token proves, or by force",
                            std::string(about_token) + about_force,
                            [this] { return this->release(); });
    release.add_flag("--force", releasing_.force, "Revoke the leases of RESOURCE");
    release.add_flag("--yes", releasing_.yes, "With --force: do not ask");
    release.add_option("RESOURCE", releasing_.resources,
                       "With --force: what to take from them, one after the other");
    constexpr const char* about_file = "Has the token; -: standard input has it";
    file(extend, "--token-file", extending_.token_file, about_file);
    file(release, "--token-file", releasing_.token_file, about_file);
}

void parser::add_looks() {
    add("inspect", "Show the holder of a lock, node by node",
        "Exit status: 0; 121 if fewer than a quorum of nodes answered; 125 on failure.",
        inspecting_, tool::inspect)
        .add_option("RESOURCE", inspecting_.resource, "What to look at")
        ->required();
    add("last", "Show the runs that run --record noted",
        "Exit status: 0; 121 if fewer than a quorum of nodes answered; 125 on failure.", recalling_,
        tool::last)
        .add_option("RESOURCE", recalling_.resource, "Whose runs")
        ->required();
    CLI::App& list =
        add("list", "Show what is held, one line or object each", about_list, listing_, tool::list);
    list.add_flag("--all", listing_.shows_all,
                  "Also the strings of other programs, which may be locks");
    list.add_option("PREFIX", listing_.prefix, "Only resources that begin with this");
    add("watch", "Print a line at each change of holder", about_watch, watching_, tool::watch)
        .add_option("RESOURCE", watching_.resources, "What to look at")
        ->required();
    CLI::App& doctor = add("doctor", "Say what is wrong with the nodes, and what to do",
                           about_doctor, examining_, tool::doctor);
    doctor.add_flag("--ready", examining_.is_ready,
                    "Only whether the nodes may vote, for scripts that restart one after another");
    doctor.add_option("NODE", examining_.nodes_to_be_ready,
                      "With --ready: the nodes to look at; without: all")
        ->needs("--ready");
}

void parser::add_changes() {
    CLI::App& init = add("init", "Declare the nodes new: no earlier lock can be held", about_init,
                         declaring_, tool::init);
    init.add_flag("--yes", declaring_.yes, "Do not ask");
    init.add_flag("--lower-fences", declaring_.lowers_fences,
                  "After clocks went back: fences follow them again, and are lower than before");

    CLI::App& commit = add("commit", "End a change of the list of nodes",
                           std::string(durations) + about_commit, committing_, tool::commit);
    commit.add_flag("--yes", committing_.yes, "Do not ask");
    commit.add_flag("--despite-old-programs", committing_.despite_old_programs,
                    "Go on although programs with another list are connected, or can't be seen");
    duration(commit, "--wait", committing_.wait,
             "Wait so long until programs with another list are gone");
    commit.add_flag("--give-up", committing_.gives_up,
                    "Give the change up: the old list stands. Refused where the new one may stand");
    commit.add_option("--without", committing_.without,
                      "This node is gone for good, no other change was begun, no other list is in "
                      "use: give their records back to nodes that wait for it; may be given "
                      "several times")
        ->type_name("NODE")
        ->allow_extra_args(false);

    CLI::App& bench = add("bench", "Measure how fast locks are on these nodes",
                          std::string(durations) + about_bench,
                          [this] { return this->bench(); });
    duration(bench, "--each", each_, "How long each part runs, at most 1m; without: 3s");
    bench.add_option("--workers", benching_.workers,
                     "How many acquire at once, at most 1000; without: 64")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000));
    bench.add_flag("--yes", benching_.yes, "Do not ask");
}

void parser::add_help() {
    add("completion", "Print what a shell needs to complete words",
        "bash: eval \"$(redlock completion bash)\" in ~/.bashrc; zsh: the same in ~/.zshrc, "
        "behind\ncompinit; fish: redlock completion fish | source, in config.fish.",
        [this] { return printing(completion_script(shell_)); })
        .add_option("SHELL", shell_, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember(completing_shells()));
    CLI::App& help =
        add("help", "Explain redlock, or one command", "", [this] { return this->help(); });
    help.add_flag("--man", wants_manual_, "Print the manual page, for man -l");
    help.add_option("COMMAND", topic_, choice_of_commands());
}

// All commands, for people.
std::string parser::choice_of_commands() const {
    const auto all = app_.get_subcommands({});
    std::string out;
    for (const auto& one : all) {
        out += (out.empty() ? "" : &one == &all.back() ? " and " : ", ") + one->get_name();
    }
    return out;
}

void parser::duration(CLI::App& to, const std::string& name, std::optional<milliseconds>& into,
                      const std::string& text) {
    const std::function<void(const std::string&)> read = [name, &into](const std::string& word) {
        milliseconds value{};
        if (const auto wrong = parse_duration(word, value); !wrong.empty()) {
            throw CLI::ValidationError(name, wrong);
        }
        into = value;
    };
    to.add_option_function<std::string>(name, read, text)->type_name("DURATION");
}

command_line parser::help() const {
    if (wants_manual_) return printing(manual_page(app_, REDLOCK_VERSION));
    if (!topic_.empty() && find_command(app_, topic_) == nullptr) {
        return wrong_usage("there is no command '" + topic_ + "': " + choice_of_commands() +
                           " exist");
    }
    return printing(help_page(app_, topic_));
}

// What is wrong with the first word that no option or argument took; empty when there is none.
std::string parser::unexpected() const {
    for (std::string word : app_.remaining(true)) {
        unmark(word);
        if (word == "--") continue;
        if (word.front() == '-') return no_such_option(word);
        if (app_.get_subcommands().empty()) {
            return "there is no command '" + word + "': " + choice_of_commands() + " exist";
        }
        if (app_.got_subcommand("extend")) return "a token is no argument: see redlock help extend";
        return "'" + word + "' is one argument too many" + see_help();
    }
    return {};
}

std::string parser::see_help() const {
    const auto given = app_.get_subcommands();
    return ": see redlock help" + (given.empty() ? "" : " " + given.front()->get_name());
}

std::string parser::no_such_option(const std::string& word) const {
    const std::string typed = word.substr(0, word.find('='));
    std::vector<std::string> names;
    const auto add = [&](const CLI::App& of) {
        for (const auto* option : of.get_options()) {
            for (const auto& name : option->get_lnames()) names.push_back(name);
        }
    };
    add(app_);
    for (const auto* command : app_.get_subcommands()) add(*command);
    const std::vector<std::string_view> known(names.begin(), names.end());
    const auto begins = std::min(typed.find_first_not_of('-'), typed.size());
    const auto meant =
        begins < 2 ? std::string_view() : detail::nearest(typed.substr(begins), known);
    if (meant.empty()) return "there is no option " + typed + see_help();
    return "there is no option " + typed + "; did you mean --" + std::string(meant) + "?";
}

// By its token, or by force.
command_line parser::release() const {
    if (!releasing_.force && !releasing_.resources.empty()) {
        return wrong_usage("release takes a token and no RESOURCE: --force takes one, and revokes "
                           "its leases");
    }
    if (!releasing_.force) {
        if (releasing_.yes) return wrong_usage("--yes is for release --force");
        return with_nodes(releasing_, tool::release);
    }
    if (releasing_.resources.empty()) return wrong_usage("release --force needs a RESOURCE");
    if (!releasing_.token_file.empty()) {
        return wrong_usage("release --force needs no token: leave --token-file out");
    }
    revoke_request revoking;
    revoking.resources = releasing_.resources;
    revoking.yes = releasing_.yes;
    return with_nodes(revoking, tool::revoke);
}

command_line parser::bench() const {
    bench_request request = benching_;
    request.each = each_.value_or(request.each);
    if (request.each <= milliseconds(0) || request.each > std::chrono::minutes(1)) {
        return wrong_usage("--each must be longer than 0 and at most 1m");
    }
    return with_nodes(request, tool::bench);
}

// An option of the command, or of redlock; null where there is none.
const CLI::Option* parser::option_of(const std::string& name, const CLI::App& of) const {
    const auto* const own = of.get_option_no_throw(name);
    return own != nullptr ? own : app_.get_option_no_throw(name);
}

// Whether the word after this one, an option of redlock or of the command, is its value.
bool parser::takes_next(const std::string& word, const CLI::App& of) const {
    const auto takes_value = [&](const std::string& name) {
        const auto* const option = option_of(name, of);
        return option != nullptr && option->get_items_expected_max() > 0;
    };
    if (word.starts_with("--")) return takes_value(word);
    // As in -nw5: each letter is an option, and what follows one that takes a value is that.
    const auto takes = std::find_if(word.begin() + 1, word.end(), [&](char letter) {
        return takes_value({'-', letter});
    });
    return takes != word.end() && takes + 1 == word.end();
}

// Where the first word is that is neither an option nor the value of one.
std::size_t parser::first_plain(const std::vector<std::string>& words, std::size_t from,
                                const CLI::App& of) const {
    const auto is_option = [](const std::string& word) {
        return word.size() > 1 && word.front() == '-' && word != "--";
    };
    while (from < words.size() && is_option(words[from])) {
        from += takes_next(words[from], of) ? 2 : 1;
    }
    return std::min(from, words.size());
}

// Takes CMD, which no option of redlock is looked for in, away from the words of a run.
std::vector<std::string> parser::take_command(std::vector<std::string>& words) const {
    const std::size_t verb = first_plain(words, 0, app_);
    if (verb == words.size() || words[verb] != "run") return {};
    auto begins = words.end();  // of CMD
    auto ends = words.end();    // of what is redlock's
    const auto mark = std::find(words.begin(), words.end(), "--");
    if (mark != words.end()) {
        // "-- RESOURCE... -- CMD": a RESOURCE that begins with "-" would be an option before the
        // mark.
        const auto second = std::find(mark + 1, words.end(), "--");
        const bool names_resource =
            words.end() - second > 1 && (mark + 1)->starts_with('-') && second > mark + 1;
        ends = names_resource ? second : mark;
        begins = ends + 1;
    } else {
        const std::size_t after = first_plain(words, verb + 1, *run_) + 1;
        const bool is_line = after < words.size() &&
                             (words[after] == "-c" || words[after] == "--command");
        const std::size_t first = is_line ? after + 2 : after;
        if (first < words.size() && (is_line || !words[first].starts_with('-'))) {
            begins = ends = words.begin() + static_cast<std::ptrdiff_t>(first);
        }
    }
    std::vector<std::string> command(begins, words.end());
    words.erase(ends, words.end());
    return command;
}

std::string parser::contradiction() const {
    const bool waits = running_.lease.wait || seconds_;
    if (at_once_ && waits) return "-n does not wait, and -w and --wait do: leave one out";
    if (running_.lease.wait && seconds_) return "-w and --wait are the same: leave one out";
    if (exclusive_ && running_.lease.shared) {
        return "-s shares the lock, and -x does not: leave one out";
    }
    if (becomes_) {
        return "--no-fork can't be had: redlock renews the lease while CMD runs, and ends CMD "
               "where the lease is lost; leave it out";
    }
    if (running_.quiet && (nodes_.verbose || json_)) {
        return "--quiet says less, and --verbose and --json say more: leave one out";
    }
    if (line_ && !command_.empty()) return "-c COMMAND stands in place of CMD: leave one out";
    return {};
}

command_line parser::run() const {
    if (const auto wrong = contradiction(); !wrong.empty()) return wrong_usage(wrong);
    if (command_.empty() && !line_) {
        return wrong_usage(
            "run needs a command: redlock run [OPTIONS] RESOURCE CMD, or redlock run RESOURCE... "
            "-- CMD");
    }
    run_request request = running_;
    if (at_once_) request.lease.wait = milliseconds(0);
    if (seconds_) request.lease.wait = seconds_;
    request.command = command_;
    if (line_) request.command = {"/bin/sh", "-c", *line_};
    return with_nodes(request, tool::run);
}

std::string parser::candidates(std::vector<std::string> words) const {
    if (words.empty()) return {};
    const std::string last = words.back();
    if (last.starts_with('-')) words.back() = "-";  // it is being typed, and not yet an option
    std::vector<std::string> own = words;
    if (const auto command = take_command(own); !command.empty()) {
        return ":command " + std::to_string(1 + words.size() - command.size()) + "\n";
    }
    const CLI::App* of = &app_;
    std::size_t at = first_plain(words, 0, app_);
    if (at + 1 < words.size()) of = find_command(app_, words[at]);
    if (of == nullptr) return {};
    while (at + 1 < words.size()) at = first_plain(words, at + 1, *of);
    const auto equals = last.starts_with("--") ? last.find('=') : last.npos;
    const bool is_value = at == words.size();  // of the option before it
    if (is_value || equals != last.npos) {
        const auto* const option =
            option_of(is_value ? words[at - 2] : last.substr(0, equals), *of);
        const bool takes_file = option != nullptr && value_of(*option) == "FILE";
        return takes_file ? ":files " + (is_value ? "" : last.substr(0, equals + 1)) + "\n" : "";
    }
    std::string out;
    const auto offer = [&](const std::string& word, const std::string& meaning) {
        if (word.starts_with(last)) out += word + "\t" + meaning + "\n";
    };
    const std::string verb = of == &app_ ? "" : of->get_name();
    if (last.starts_with('-')) {
        for (const CLI::App* one : {of, &app_}) {
            for (const CLI::Option* option : one->get_options()) {
                for (const auto& name : names_of(*option)) offer(name, option->get_description());
            }
            if (one == &app_) break;
        }
    } else if (verb.empty() || verb == "help") {
        for (const CLI::App* one : app_.get_subcommands({})) {
            offer(one->get_name(), one->get_description());
        }
    } else if (verb == "completion") {
        for (const auto& one : completing_shells()) offer(one, "");
    }
    return out;
}

// Of "--note=" the value is empty; CLI11 would take the next word for it.
void parser::part_empty_values(std::vector<std::string>& words) const {
    const auto verb = words.begin() + static_cast<std::ptrdiff_t>(first_plain(words, 0, app_));
    const auto* const given = verb == words.end() ? nullptr : find_command(app_, *verb);
    const CLI::App& of = given == nullptr ? app_ : *given;
    for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        if (!words[i].starts_with("--") || !words[i].ends_with('=')) continue;
        const std::string name = words[i].substr(0, words[i].size() - 1);
        if (!takes_next(name, of)) continue;
        words[i] = name;
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, "");
    }
}

command_line parser::parse(std::vector<std::string> words) {
    command_ = take_command(words);
    part_empty_values(words);
    std::transform(words.begin(), words.end(), words.begin(), marked);
    std::reverse(words.begin(), words.end());
    std::string wrong;
    try {
        app_.parse(words);
    } catch (const CLI::ParseError& e) {
        wrong = e.what();
    }
    const auto given = app_.get_subcommands();
    const CLI::App* const verb = given.empty() ? nullptr : given.front();
    if (wants_help_) {
        const bool names_topic = verb != nullptr && verb->get_name() != "help";
        return printing(help_page(app_, names_topic ? verb->get_name() : topic_));
    }
    if (!wrong.empty()) return wrong_usage(wrong + see_help());
    if (wrong = unexpected(); !wrong.empty()) return wrong_usage(wrong);
    for (const CLI::Option* const one : files_) {
        if (one->count() == 0 || !one->as<std::string>().empty()) continue;
        return wrong_usage(one->get_name() + " names no file: " +
                           (one == files_.front() ? "leave it out to use the environment"
                                                  : "name one, or leave it out") +
                           ": see redlock help");
    }
    if (version_) {
        return printing((json_ ? json_text({{"version", REDLOCK_VERSION}})
                               : std::string("redlock " REDLOCK_VERSION)) +
                        "\n");
    }
    if (verb == nullptr) {
        return wrong_usage("no command was given: " + choice_of_commands() + " exist");
    }
    return results_.at(verb)();
}

}  // namespace

command_line parse_command_line(int argc, const char* const* argv) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (!words.empty() && words.front() == asks_for_candidates) {
        return printing(parser().candidates({words.begin() + 1, words.end()}));
    }
    command_line asked = parser().parse(words);
    // What was not understood may have kept the parser from its options.
    const auto mark = std::find(words.begin(), words.end(), "--");
    const auto has = [&](const char* word) {
        return std::find(words.begin(), mark, word) != mark;
    };
    asked.in_json = has("run") && has("--json");
    return asked;
}

}  // namespace redlock::tool
