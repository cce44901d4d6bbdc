// A question to the operator before something that can't be undone.
// SPDX-License-Identifier: MIT
#include "tools/question.hpp"

#include "tools/report.hpp"

#include <unistd.h>

#include <iostream>

namespace redlock::tool {

bool is_confirmed(const std::string& command, const std::string& condition,
                  const std::string& what) {
    if (::isatty(STDIN_FILENO) == 0) {
        complain(command + " asks before it does anything, and there is no terminal to ask on: " +
                 condition + ", say --yes");
        return false;
    }
    std::cerr << what << "\nType yes to go on: " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    if (answer == "yes") return true;
    complain("nothing was changed");
    return false;
}

}  // namespace redlock::tool
