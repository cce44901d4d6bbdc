// One database of a Redis master: keys, their values and when they run out.
// SPDX-License-Identifier: MIT
#include "testing/redis_model/keyspace.hpp"

#include <utility>

namespace redlock::fakes {

stored* keyspace::find(std::string_view key, std::int64_t now_ms) {
    const auto it = keys_.find(key);
    if (it == keys_.end()) return nullptr;
    if (!it->second.is_gone(now_ms)) return &it->second;
    keys_.erase(it);
    return nullptr;
}

void keyspace::put(std::string_view key, stored what) {
    keys_.insert_or_assign(std::string(key), std::move(what));
}

bool keyspace::erase(std::string_view key, std::int64_t now_ms) {
    if (find(key, now_ms) == nullptr) return false;
    keys_.erase(keys_.find(key));
    return true;
}

void keyspace::sweep(std::int64_t now_ms) {
    std::erase_if(keys_, [now_ms](const auto& k) { return k.second.is_gone(now_ms); });
}

}  // namespace redlock::fakes
