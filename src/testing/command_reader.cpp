// Commands as they stand on the wire of a node.
// SPDX-License-Identifier: MIT
#include "testing/command_reader.hpp"

#include <hiredis/hiredis.h>

#include <cstddef>
#include <new>
#include <stdexcept>

namespace redlock::testing {

command_reader::command_reader() : reader_(::redisReaderCreate(), &::redisReaderFree) {
    if (!reader_) throw std::bad_alloc();
}

std::vector<fakes::command> command_reader::feed(std::string_view bytes) {
    ::redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
    std::vector<fakes::command> commands;
    for (;;) {
        void* found = nullptr;
        if (::redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
            throw std::runtime_error("a client sent what is no command");
        }
        if (found == nullptr) return commands;
        const std::unique_ptr<redisReply, void (*)(void*)> read(static_cast<redisReply*>(found),
                                                                &::freeReplyObject);
        auto& command = commands.emplace_back();
        for (std::size_t i = 0; i < read->elements; ++i) {
            command.emplace_back(read->element[i]->str, read->element[i]->len);
        }
    }
}

}  // namespace redlock::testing
