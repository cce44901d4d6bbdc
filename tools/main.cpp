// The redlock command: runs the request of its command line.
// SPDX-License-Identifier: MIT
#include "tools/command_line.hpp"
#include "tools/exit_status.hpp"
#include "tools/report.hpp"

#include <boost/system/system_error.hpp>

#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace redlock::tool;

struct performer {
    const inherited_signals& given;

    int operator()(const usage_error& wrong) const {
        if (wrong.in_json) complain_in_json();
        complain(wrong.what);
        return own_failure;
    }
    int operator()(const text_request& request) const {
        return print(request.text) ? success : own_failure;
    }
    int operator()(const run_request& request) const { return run(request, given); }
    int operator()(const acquire_request& request) const { return acquire(request, given); }
    int operator()(const extend_request& request) const { return extend(request); }
    int operator()(const release_request& request) const { return release(request); }
    int operator()(const revoke_request& request) const { return revoke(request); }
    int operator()(const inspect_request& request) const { return inspect(request); }
    int operator()(const list_request& request) const { return list(request); }
    int operator()(const watch_request& request) const { return watch(request); }
    int operator()(const doctor_request& request) const { return doctor(request); }
    int operator()(const bench_request& request) const { return bench(request); }
    int operator()(const init_request& request) const { return init(request); }
    int operator()(const commit_request& request) const { return commit(request); }
};

// What Asio says beside it means something to its programmers.
std::string system_failure(const boost::system::error_code& why) {
    const bool is_limit = why == boost::system::errc::too_many_files_open;
    return "the system refused what redlock needs: " + why.message() +
           (is_limit ? ": raise ulimit -n" : "");
}

std::string without_type_name(std::string_view what) {
    constexpr std::string_view type = "redlock::client_options: ";
    return std::string(what.substr(what.starts_with(type) ? type.size() : 0));
}

}  // namespace

int main(int argc, char** argv) {
    const inherited_signals given;
    given.unblock_all();
    fill_closed_streams();
    int status = own_failure;
    try {
        std::vector<std::string> words(argv, argv + argc);
        if (const char* const file = std::getenv("REDLOCK_CONFIG")) {
            words.insert(words.begin(), file);
        }
        keep_secret(words);
        status = std::visit(performer{given}, parse_command_line(argc, argv));
    } catch (const boost::system::system_error& e) {
        complain(system_failure(e.code()));
    } catch (const std::exception& e) {
        complain(without_type_name(e.what()));
    }
    take_time();
    return status;
}
