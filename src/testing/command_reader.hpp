// Commands as they stand on the wire of a node; carries none out.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/redis_model/command.hpp"

#include <memory>
#include <string_view>
#include <vector>

struct redisReader;

namespace redlock::testing {

class command_reader {
public:
    command_reader();
    /// The commands that are complete with these bytes. Throws `std::runtime_error` where they are
    /// none.
    std::vector<fakes::command> feed(std::string_view bytes);

private:
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

}  // namespace redlock::testing
