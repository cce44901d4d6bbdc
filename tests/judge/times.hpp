// Judges validities, losses and what is left on nodes, by what programs tell; knows no other lease
// of a resource.
// SPDX-License-Identifier: MIT
#pragma once

#include "journal.hpp"
#include "violation.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace redlock::judge {

/// The value of a key that is shared, and no reader has it.
inline constexpr auto shared_by_nobody = "redlock:shared";

/// No lease is trusted after its validity, and no validity moves back. A holder hears of a loss
/// before the validity is over; where its program could not run then, as soon as it does. No node
/// keeps a key of a program that lives and rests, but for what the program left to run out.
class times {
public:
    explicit times(reporter report) : report_(std::move(report)) {}

    /// Until it dies, the program gives back what it has.
    void began(const std::string& who) { programs_.try_emplace(who); }
    /// One line of a program, which has begun by then.
    void take(const std::string& who, const entry& e);
    /// The program was killed: its keys run out.
    void died(const std::string& who) { programs_.erase(who); }

    /// Whether a key with this value may be on a node while all programs that live rest.
    bool may_remain(const std::string& value, clock::time_point now) const;

private:
    struct lease {
        clock::time_point valid_until;
        clock::time_point kept_until;
    };
    struct program {
        std::map<std::uint64_t, lease> leases{};  // by section
        clock::time_point idle_from{};  // the last time in which it did not run
        clock::time_point idle_until{};
    };

    void check_trust(lease& of, const std::string& who, const entry& e);
    void end(program& in, const entry& e);
    void check_loss(const program& in, const std::string& who, const entry& e);
    void may_run_out(const std::string& owner, clock::time_point until, clock::time_point now);

    reporter report_;
    std::map<std::string, program> programs_;  // that live
    std::map<std::string, clock::time_point> running_out_;  // by owner: detached, or kept
};

}  // namespace redlock::judge
