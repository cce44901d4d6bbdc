// The redlock command: does what its command line asks for.
// SPDX-License-Identifier: MIT
#include "tools/command_line.hpp"
#include "tools/exit_status.hpp"
#include "tools/report.hpp"

#include <redlock/error.hpp>

#include <boost/system/system_error.hpp>

#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>
#include <string_view>
#include <vector>

namespace {

using namespace redlock::tool;

int perform(const command_line& asked, const inherited_signals& given) {
    if (asked.work) return asked.work(given);
    if (asked.in_json) complain_in_json();
    complain(asked.wrong);
    return own_failure;
}

// What Asio says beside it means something to its programmers.
std::string system_failure(const boost::system::error_code& why) {
    return "the system refused what redlock needs: " + why.message() +
           std::string(remedy_of_limit(why));
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
        status = perform(parse_command_line(argc, argv), given);
    } catch (const ending& e) {
        status = e.status;
    } catch (const boost::system::system_error& e) {
        complain(system_failure(e.code()));
    } catch (const std::system_error& e) {
        complain(system_failure(redlock::error_code(e.code())));
    } catch (const std::exception& e) {
        complain(without_type_name(e.what()));
    }
    take_time();
    return status;
}
