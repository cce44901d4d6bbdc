// A client over masters in memory, on a context and a clock that the test moves; knows no engine.
// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"

#include <redlock/client.hpp>
#include <redlock/testing.hpp>

#include <boost/asio/io_context.hpp>

#include <optional>
#include <string>
#include <utility>

namespace redlock::testing {

/// A program's client, and what its operations completed with.
struct program {
    program(masters& of, boost::asio::io_context& runs_in, client_options options)
        : nodes(&of), io(runs_in), client(io.get_executor(), std::move(options)) {
        pass(clock::duration::zero());
    }
    program(masters& of, boost::asio::io_context& runs_in) : program(of, runs_in, of.options()) {}

    void pass(clock::duration time) { nodes->advance(io, time); }
    std::pair<error_code, lease> acquire(const std::string& resource, acquire_options how = {}) {
        std::optional<std::pair<error_code, lease>> got;
        client.async_acquire(resource, how,
                             [&](error_code ec, lease held) { got.emplace(ec, std::move(held)); });
        pass(clock::duration::zero());
        REQUIRE(got);
        return std::move(*got);
    }

    masters* nodes;
    boost::asio::io_context& io;
    redlock::client client;
};

}  // namespace redlock::testing
