// Which owners that callers gave are in use for which resources; knows no operation and no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/owner_id.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace redlock::detail {

/// Owners that the client draws itself are unique, and not kept here.
class owner_claims {
    using key = std::pair<owner_id, std::string>;
    struct hash {
        std::size_t operator()(const key& k) const noexcept {
            const auto* const bytes = reinterpret_cast<const char*>(k.first.bytes.data());
            const std::hash<std::string_view> of;
            return of({bytes, k.first.bytes.size()}) * 31 + of(k.second);
        }
    };
    using set = std::unordered_set<key, hash>;

public:
    /// The right to use an owner for some resources: of an acquire, and then of the lease that it
    /// was granted. Ends with its holder, which may outlive the client.
    class claim {
    public:
        explicit operator bool() const noexcept { return uses_ != nullptr; }
        void end() noexcept { uses_.reset(); }

    private:
        friend class owner_claims;
        struct uses {
            explicit uses(std::weak_ptr<set> all) noexcept : in(std::move(all)) {}
            uses(const uses&) = delete;
            uses& operator=(const uses&) = delete;
            ~uses() {
                const auto all = in.lock();
                if (!all) return;
                for (const key& one : keys) all->erase(one);
            }
            std::weak_ptr<set> in;
            std::vector<key> keys{};
        };
        std::unique_ptr<uses> uses_{};  // none for most leases
    };

    /// For all of the resources; empty where the owner is in use for one of them.
    claim begin(const owner_id& owner, std::span<const std::string> resources) {
        claim out;
        out.uses_ = std::make_unique<claim::uses>(in_use_);
        for (const std::string& one : resources) {
            if (!in_use_->emplace(owner, one).second) return {};
            out.uses_->keys.emplace_back(owner, one);
        }
        return out;
    }

private:
    std::shared_ptr<set> in_use_ = std::make_shared<set>();
};

}  // namespace redlock::detail
