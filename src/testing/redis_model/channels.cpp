// Who is subscribed to which channel of a Redis master.
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

void channels::subscribe(subscriber& who, const std::string& name) {
    if (who.in_.lock().get() != this) who.leave();  // of another process, or server
    who.in_ = weak_from_this();
    if (who.names_.insert(name).second) by_name_[name].push_back(&who);
}

void channels::unsubscribe(subscriber& who, const std::string& name) noexcept {
    if (who.in_.lock().get() != this) return;
    if (who.names_.erase(name) != 0) forget(name, &who);
}

const std::string* channels::first_of(const subscriber& who) const noexcept {
    const bool is_here = who.in_.lock().get() == this;
    return is_here && !who.names_.empty() ? &*who.names_.begin() : nullptr;
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

bool channels::has(const std::string& name, const subscriber* who) const noexcept {
    const auto at = by_name_.find(name);
    return at != by_name_.end() &&
           std::find(at->second.begin(), at->second.end(), who) != at->second.end();
}

void channels::forget(const std::string& name, const subscriber* who) noexcept {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return;
    std::erase(at->second, who);
    if (at->second.empty()) by_name_.erase(at);
}

}  // namespace redlock::fakes
