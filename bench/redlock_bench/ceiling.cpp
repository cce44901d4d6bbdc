// The most that one thread gets out of the nodes.
// SPDX-License-Identifier: MIT
#include "ceiling.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace bench {

ceiling::ceiling(setting& on, std::size_t workers) : commands_(on), quorum_(redlock::quorum_of(on.size())) {
    for (const auto& options : on.options().nodes) {
        const node& added = nodes_.emplace_back(node{bare_socket(options)});
        events_.push_back({added.socket.fd(), POLLIN, 0});
    }
    // As long as the names that the library is given: the same bytes travel.
    for (std::size_t i = 0; i < workers; ++i) {
        workers_.push_back({commands_.of("basis:" + std::to_string(i))});
    }
}

measured ceiling::run(std::chrono::milliseconds duration) {
    measured total;
    const auto begin = redlock::clock::now();
    const double cpu = cpu_seconds();
    over_ = false;
    for (std::size_t i = 0; i < workers_.size(); ++i) begin_step(i, total);
    while (!is_idle()) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (!nodes_[i].outgoing.empty()) write_to(nodes_[i], events_[i], total);
        }
        if (::poll(events_.data(), events_.size(), 10'000) <= 0) {
            throw std::runtime_error("no node answers");
        }
        over_ = redlock::clock::now() - begin >= duration;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if ((events_[i].revents & ~POLLOUT) != 0) read_from(nodes_[i], total);
        }
    }
    total.cpu_seconds = cpu_seconds() - cpu;
    total.seconds = std::chrono::duration<double>(redlock::clock::now() - begin).count();
    return total;
}

void ceiling::begin_step(std::size_t which, measured& total) {
    worker& w = workers_[which];
    w.answers = 0;
    const bool acquires = ++w.step % 2 == 1;
    const std::uint64_t fence = acquires ? commands_.next_fence() : 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        lock_commands& c = w.commands[i];
        if (acquires) c.set_fence(fence);
        nodes_[i].outgoing += acquires ? c.acquire : c.release;
        nodes_[i].due.push_back({static_cast<std::uint32_t>(which), w.step});
        ++total.commands;
    }
}

void ceiling::end_step(std::size_t which, measured& total) {
    const bool released = workers_[which].step % 2 == 0;
    if (released) ++total.cycles;
    if (!released || !over_) begin_step(which, total);
}

void ceiling::read_from(node& one, measured& total) {
    ++total.reads;
    for (std::size_t n = one.answers.feed(one.socket.receive()); n > 0; --n) {
        const step answered = one.due.front();
        one.due.pop_front();
        worker& w = workers_[answered.worker];
        // What comes after the quorum belongs to a step that is over.
        if (answered.number == w.step && ++w.answers == quorum_) end_step(answered.worker, total);
    }
}

void ceiling::write_to(node& one, pollfd& events, measured& total) {
    ++total.writes;
    const auto sent = ::send(one.socket.fd(), one.outgoing.data(), one.outgoing.size(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN)
        throw std::system_error(errno, std::generic_category(), "send");
    if (sent > 0) one.outgoing.erase(0, static_cast<std::size_t>(sent));
    events.events = one.outgoing.empty() ? POLLIN : POLLIN | POLLOUT;
}

bool ceiling::is_idle() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const node& n) { return n.due.empty(); });
}

}  // namespace bench
