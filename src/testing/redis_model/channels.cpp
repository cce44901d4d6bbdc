// The subscribers of each channel of a Redis master.
// SPDX-License-Identifier: MIT
#include "testing/redis_model/channels.hpp"

#include "testing/redis_model/model_reply.hpp"

#include <algorithm>

namespace redlock::fakes {

void subscriber::leave() noexcept {
    if (const auto in = in_.lock()) {
        for (const std::string& name : names_) in->forget(name, this);
    }
    in_.reset();
    names_.clear();
}

void channels::subscribe(subscriber& client, const std::string& name) {
    if (client.in_.lock().get() != this) client.leave();  // of another process, or server
    client.in_ = weak_from_this();
    if (client.names_.insert(name).second) by_name_[name].push_back(&client);
}

void channels::unsubscribe(subscriber& client, const std::string& name) noexcept {
    if (client.in_.lock().get() != this) return;
    if (client.names_.erase(name) != 0) forget(name, &client);
}

const std::string* channels::first_of(const subscriber& client) const noexcept {
    const bool is_here = client.in_.lock().get() == this;
    return is_here && !client.names_.empty() ? &*client.names_.begin() : nullptr;
}

std::int64_t channels::publish(const std::string& name, const std::string& message) {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return 0;
    const auto stays = shared_from_this();
    const std::string bytes = to_resp2(model_reply::array(
        {model_reply::bulk("message"), model_reply::bulk(name), model_reply::bulk(message)}));
    std::int64_t count = 0;
    const std::vector<subscriber*> all = at->second;
    for (const subscriber* one : all) {
        if (!has(name, one)) continue;  // ended by one before it
        ++count;
        const auto push = one->push;  // which may end its owner
        if (push) push(bytes);
    }
    return count;
}

bool channels::has(const std::string& name, const subscriber* client) const noexcept {
    const auto at = by_name_.find(name);
    return at != by_name_.end() &&
           std::find(at->second.begin(), at->second.end(), client) != at->second.end();
}

void channels::forget(const std::string& name, const subscriber* client) noexcept {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return;
    std::erase(at->second, client);
    if (at->second.empty()) by_name_.erase(at);
}

}  // namespace redlock::fakes
