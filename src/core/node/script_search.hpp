// Which scripts a node has to be sent in a handshake; knows no text of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace redlock::core {

/// The scripts are known by their number. The node is queried which it has, and is sent the others.
/// It may be flushed between the two: then the script of the record goes with its text.
class script_search {
public:
    /// The node says of each script in order, whether it has it.
    void note(bool is_there) {
        if (!is_there) missing_.push_back(next_);
        ++next_;
    }
    bool lacks_any() const noexcept { return !missing_.empty(); }
    const std::vector<std::size_t>& missing() const noexcept { return missing_; }
    /// The node loaded the next of the missing ones: which it was.
    std::size_t loaded() {
        assert(loaded_ < missing_.size());
        return missing_[loaded_++];
    }
    /// The node does not know the script of the record, which it had or was sent. False where it
    /// was sent with its text: another try would end in the same way.
    bool lost() {
        missing_.clear();
        return !std::exchange(sends_text_, true);
    }
    /// Whether the script of the record goes with its text.
    bool sends_text() const noexcept { return sends_text_; }

private:
    std::vector<std::size_t> missing_;
    std::size_t next_ = 0;
    std::size_t loaded_ = 0;  // of the missing ones
    bool sends_text_ = false;
};

}  // namespace redlock::core
