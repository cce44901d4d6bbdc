// A scripted server that greets like Redis and then misbehaves; knows no rule of the locks.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::testing {

/// One command as it came in.
struct request {
    std::vector<std::string> words;
    /// Upper case, with its part: "SET", "SCRIPT LOAD", "EVALSHA NODE" for one of our scripts. One
    /// that does many requests is named after them: "EVALSHA ACQUIRE" where any is an acquire,
    /// otherwise after the first.
    std::string name;
    int connection = 0;        ///< 0 for the first this server accepted.
    int number = 0;            ///< Position on its connection.
    int number_of_name = 0;    ///< Position among those of this name on its connection.
    bool handshake = false;    ///< One of the commands that open a connection.
    std::string proper;        ///< What a good server would answer.
};

/// What the server does about it.
struct answer {
    std::string bytes;
    std::chrono::milliseconds delay{0};  ///< From the arrival of the command.
    std::size_t piece = 0;               ///< Bytes per write; 0: all at once.
    enum class then { go_on, close, fall_silent, repeat_for_ever } after = then::go_on;
};

using misbehaviour = std::function<answer(const request&)>;

/// Listens on loopback on a port of its own, in a thread of its own. A good server as far as the
/// script lets it be. Thread-safe. The script is called in the server's thread.
class hostile_server {
public:
    explicit hostile_server(misbehaviour script);
    ~hostile_server();
    hostile_server(const hostile_server&) = delete;
    hostile_server& operator=(const hostile_server&) = delete;

    std::uint16_t port() const noexcept;
    node_options node(const std::string& name = "hostile") const;

    int connections_accepted() const;
    int connections_open() const;
    /// How many commands of a name (upper case) came in, over all connections; "": of any name.
    int commands(const std::string& name = "") const;
    std::size_t bytes_written() const;
    /// Replaces the script for commands still to come.
    void behave(misbehaviour script);
    /// Sends bytes that answer no command on every open connection.
    void push(std::string bytes);
    /// Closes every open connection.
    void cut();
    /// At the end of a test: what is owed to a node that does not answer well would keep the client
    /// for its time-out.
    void appease();

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

/// Ready-made scripts. Unless they say otherwise they greet properly and misbehave on what follows.
namespace hostile {

misbehaviour none();                                   ///< A good server.
misbehaviour answers(std::string bytes);               ///< The same bytes to everything.
misbehaviour error(std::string text);                  ///< "-text" to everything.
misbehaviour answers_then_closes(std::string bytes);   ///< A piece of a reply, then the end.
misbehaviour answers_then_silence(std::string bytes);  ///< A piece of a reply, then nothing more.
misbehaviour floods(std::string bytes);                ///< The bytes again and again.
misbehaviour delays(std::chrono::milliseconds by);     ///< Proper answers, late.
misbehaviour splits(std::size_t piece);                ///< Proper answers, also in the handshake.
misbehaviour never_answers();                          ///< Accepts, and says nothing to anything.
/// Proper until the nth command of a name (from 0) on a connection; does this instead of answering.
misbehaviour at(std::string name, int nth, answer instead);
/// `script` on the first `connections` connections, a good server on all later ones.
misbehaviour only_at_first(int connections, misbehaviour script);

std::string garbage();            ///< Bytes that begin no reply.
std::string nested(int depth);    ///< An array in an array in an array…

}  // namespace hostile
}  // namespace redlock::testing
