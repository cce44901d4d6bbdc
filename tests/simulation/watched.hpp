// An operation that reports to its caller how it ended, once; knows no kind of them.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/program.hpp"

#include <string>
#include <utility>

namespace redlock::simulation {

/// The lease checker hears of one that ends twice.
template <class Operation, class Who>
class watched : public Operation {
public:
    template <class... Args>
    watched(program& in, Who& by, Args&&... args)
        : Operation(std::forward<Args>(args)...), in_(&in), by_(&by) {}
    void discard() noexcept final { has_ended_ = true; }

protected:
    Who& ended() {
        in_->around().judge.require(!has_ended_, "once",
                                    [&] { return in_->name() + ": an operation ended twice"; });
        has_ended_ = true;
        in_->operation_ended();
        return *by_;
    }

private:
    program* in_;
    Who* by_;
    bool has_ended_ = false;
};

}  // namespace redlock::simulation
