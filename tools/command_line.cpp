// Reads the command line of redlock into a request.
// SPDX-License-Identifier: MIT
#include "tools/command_line.hpp"

#include "tools/duration.hpp"
#include "tools/json_writer.hpp"

#include <redlock/detail/nearest.hpp>
#include <redlock/options.hpp>
#include <redlock/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace {

using std::chrono::milliseconds;

constexpr const char* statuses =
    "The nodes are named by --node, --config or REDLOCK_CONFIG: see redlock help.\n\n"
    "Exit status: CMD's own; 128+n if signal n ended it, or redlock while it waited; 120 another\n"
    "holder, or the --min-hold of the last one, kept a RESOURCE until the wait was over; 121 no\n"
    "quorum of nodes; 122 the lease was lost and CMD stopped; 125 redlock itself failed; 126 CMD\n"
    "can't be executed; 127 CMD was not found.\n\n"
    "CMD finds REDLOCK_RESOURCE (of several one a line), REDLOCK_FENCE and REDLOCK_OWNER in its\n"
    "environment, and with --slots REDLOCK_SLOT. A redlock run inside CMD of the same RESOURCE\n"
    "does not wait for this one, which it finds by REDLOCK_HELD: it runs its CMD under the lock\n"
    "that is held already.\n\n"
    "When the lease is lost, CMD's whole process group gets TERM, and KILL at half of the margin,\n"
    "so that it is gone before the lease ends. Redlock can't end processes that leave the group,\n"
    "nor any while it is itself stopped with SIGSTOP, nor those that run as another user (sudo):\n"
    "it reports these, and ends with 122 all the same. If redlock is killed, CMD is killed with it,\n"
    "but not what CMD started. Processes that CMD leaves in the background when it ends run on\n"
    "without the lease.";

// CLI11 does not see CMD, so its usage line has to be completed.
class formatter final : public CLI::Formatter {
    std::string make_usage(const CLI::App* app, std::string name) const override {
        std::string usage = CLI::Formatter::make_usage(app, std::move(name));
        if (app->get_name() == "run") {
            usage.insert(usage.find_last_not_of('\n') + 1, " -- CMD [ARGS...]");
        }
        return usage;
    }
};

class parser {
public:
    parser();
    command_line parse(std::vector<std::string> words);

private:
    void duration(CLI::App& to, const std::string& name, std::optional<milliseconds>& into,
                  const std::string& text);
    std::string help_text() const;
    std::string unexpected() const;
    std::string no_such_option(const std::string& word) const;

    CLI::App app_{"Locks over a quorum of independent Redis masters", "redlock"};
    CLI::App* run_;
    CLI::App* inspect_;
    CLI::App* init_;
    CLI::App* help_;
    CLI::Option* config_;
    node_source nodes_;
    bool json_ = false;
    bool version_ = false;
    bool wants_help_ = false;
    std::string topic_;
    run_request running_;
    inspect_request inspecting_;
    init_request declaring_;
};

parser::parser() {
    app_.set_help_flag();
    app_.formatter(std::make_shared<formatter>());  // its subcommands inherit it
    app_.require_subcommand(0, 1);
    app_.allow_extras();  // they are refused here, in words of this command
    app_.fallthrough();
    app_.add_flag("-h,--help", wants_help_, "Say how a command is used");
    app_.add_flag("--version", version_, "Print the version");
    app_.add_option(
            "--node", nodes_.uris,
            "A node: redis://[user:password@]host:port[/database] or unix:///path; once per "
            "node")
        ->type_name("URI")
        ->allow_extra_args(false);
    config_ = app_.add_option("--config", nodes_.config_file,
                              "A JSON file that names the nodes; else REDLOCK_CONFIG does");
    config_->type_name("FILE");
    app_.add_flag("--json", json_,
                  "Print JSON; run writes what it does to standard error, an object a line");
    app_.footer("redlock help CMD explains one command.");

    run_ = app_.add_subcommand("run", "Run a command while holding a lock");
    run_->footer(statuses);
    duration(*run_, "--ttl", running_.lease.ttl,
             "Length of the lease, such as 10s; renewed at a third");
    duration(*run_, "--wait", running_.lease.wait,
             "The longest time to wait for the lock; without: try once");
    duration(*run_, "--max-hold", running_.lease.max_hold, "Stop CMD after this time; 0s: never");
    duration(*run_, "--min-hold", running_.lease.min_hold,
             "Keep others out for this time also where CMD ends sooner: once per period");
    duration(*run_, "--margin", running_.lease.margin,
             "Time in which to end CMD when the lease is lost; without: a quarter of the ttl or of "
             "--max-hold, at most 2s");
    run_->add_flag("--no-renew", running_.lease.no_renew, "Let the lease end after one ttl");
    run_->add_flag("--shared", running_.lease.shared,
                   "Share the lock with others that run with --shared, and with nobody else");
    run_->add_option("--slots", running_.lease.slots,
                     "Hold one of K slots of RESOURCE, so that at most K run at once; the slots "
                     "are another lock than RESOURCE itself")
        ->type_name("K")
        ->check(CLI::Range(1, static_cast<int>(max_slots)));
    run_->add_flag("--verbose", running_.verbose,
                   "Say what redlock waits for also where standard error is no terminal");
    run_->add_option("-E,--conflict-exit-code", running_.contended_status,
                     "Exit status in place of 120, which CMD may use itself")
        ->type_name("N")
        ->check(CLI::Range(0, 255));
    run_->add_option("RESOURCE", running_.resources,
                     "What to lock, all or none of them; after -- if one begins with -")
        ->required();

    inspect_ = app_.add_subcommand("inspect", "Show the holder of a lock, node by node");
    inspect_->footer(
        "The nodes are named by --node, --config or REDLOCK_CONFIG: see redlock help.\n"
        "With --json: one object.\n\nExit status: 0; 121 if fewer than a quorum of nodes answered; "
        "125 on failure.");
    inspect_->add_option("RESOURCE", inspecting_.resource, "What to look at")->required();

    init_ = app_.add_subcommand("init", "Declare the nodes new: no earlier lock can be held");
    init_->footer(
        "A node that may have lost its data has no vote until every earlier lease has ended.\n"
        "If an operator knows that no lease is valid, as on a first start with a node missing,\n"
        "init gives all nodes their vote at once. If a program does hold a lock, a second holder\n"
        "gets in. init asks for confirmation first. Every node must be reachable.\n"
        "The nodes are named by --node, --config or REDLOCK_CONFIG: see redlock help.\n"
        "With --json: one object.\n\nExit status: 0; 121 if a node did not take it; 125 on "
        "failure.");
    init_->add_flag("--yes", declaring_.yes, "Do not ask");

    help_ = app_.add_subcommand("help", "Explain redlock, or one command");
    help_->footer("");
    help_->add_option("CMD", topic_, "run, inspect, init or help");
    for (auto* command : {run_, inspect_, init_, help_}) command->set_help_flag();
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

std::string parser::help_text() const {
    const CLI::App* topic = &app_;
    for (const auto* command : {run_, inspect_, init_, help_}) {
        const bool asked_with_flag = command->parsed() && command != help_;
        if (asked_with_flag || topic_ == command->get_name()) topic = command;
    }
    const std::string name = topic == &app_ ? "redlock" : "redlock " + topic->get_name();
    return app_.get_formatter()->make_help(topic, name, CLI::AppFormatMode::Normal);
}

// What is wrong with the first word that no option or argument took; empty when there is none.
std::string parser::unexpected() const {
    for (const auto& word : app_.remaining(true)) {
        if (word == "--") continue;
        if (word.front() == '-') return no_such_option(word);
        if (app_.get_subcommands().empty()) {
            return "there is no command '" + word + "': run, inspect, init and help exist";
        }
        return "'" + word + "' is one argument too many: see redlock help";
    }
    return {};
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
    if (meant.empty()) return "there is no option " + typed + ": see redlock help";
    return "there is no option " + typed + "; did you mean --" + std::string(meant) + "?";
}

command_line parser::parse(std::vector<std::string> words) {
    // What comes after the first "--" belongs to CMD, untouched.
    std::vector<std::string> command;
    const auto mark = std::find(words.begin(), words.end(), "--");
    const bool is_run = !words.empty() && std::find(words.begin(), mark, "run") != mark;
    if (is_run && mark != words.end()) {
        // "-- RESOURCE... -- CMD": a RESOURCE that begins with "-" would be an option before the mark.
        const auto second = std::find(mark + 1, words.end(), "--");
        const bool names_resource =
            words.end() - second > 1 && (mark + 1)->starts_with('-') && second > mark + 1;
        command.assign((names_resource ? second : mark) + 1, words.end());
        words.erase(names_resource ? second : mark, words.end());
    }
    std::reverse(words.begin(), words.end());
    std::string wrong;
    try {
        app_.parse(words);
    } catch (const CLI::ParseError& e) {
        wrong = e.what();
    }
    if (wants_help_) return text_request{help_text()};
    if (!wrong.empty()) return usage_error{wrong + ": see redlock help"};
    if (wrong = unexpected(); !wrong.empty()) return usage_error{wrong};
    if (config_->count() != 0 && nodes_.config_file.empty()) {
        return usage_error{"--config names no file: leave it out to use REDLOCK_CONFIG"};
    }
    if (version_) {
        if (!json_) return text_request{"redlock " REDLOCK_VERSION "\n"};
        json_writer json;
        json.begin_object().key("version").string(REDLOCK_VERSION).end_object();
        return text_request{json.text() + "\n"};
    }
    if (run_->parsed()) {
        if (command.empty()) {
            return usage_error{"run needs a command, after --: redlock run RESOURCE... -- CMD"};
        }
        running_.nodes = nodes_;
        running_.json = json_;
        running_.command = std::move(command);
        return running_;
    }
    if (inspect_->parsed()) {
        inspecting_.nodes = nodes_;
        inspecting_.json = json_;
        return inspecting_;
    }
    if (init_->parsed()) {
        declaring_.nodes = nodes_;
        declaring_.json = json_;
        return declaring_;
    }
    if (!help_->parsed()) return usage_error{"no command was given: run, inspect, init or help"};
    const bool is_topic = topic_.empty() || topic_ == "run" || topic_ == "inspect" ||
                          topic_ == "init" || topic_ == "help";
    if (!is_topic) {
        return usage_error{"there is no command '" + topic_ +
                           "': run, inspect, init and help exist"};
    }
    return text_request{help_text()};
}

}  // namespace

command_line parse_command_line(int argc, const char* const* argv) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    command_line asked = parser().parse(words);
    if (auto* const wrong = std::get_if<usage_error>(&asked)) {
        // What was not understood may have kept the parser from its options.
        const auto mark = std::find(words.begin(), words.end(), "--");
        const auto has = [&](const char* word) {
            return std::find(words.begin(), mark, word) != mark;
        };
        wrong->in_json = has("run") && has("--json");
    }
    return asked;
}

}  // namespace redlock::tool
