// The options of an acquire that outlive the call in which they were given; knows no acquire.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <string>

namespace redlock::detail {

/// The note of these options. Of one that is too long no more is copied than shows that.
inline std::string copied_note(const acquire_options& options) {
    return std::string(options.note.substr(0, max_note_bytes + 1));
}

/// Has the text of the note itself.
class kept_options {
public:
    explicit kept_options(const acquire_options& options)
        : options_(options), note_(copied_note(options)) {
        options_.note = {};
    }
    /// Their note is good as long as this object.
    acquire_options get() const noexcept {
        acquire_options out = options_;
        out.note = note_;
        return out;
    }

private:
    acquire_options options_;
    std::string note_;
};

}  // namespace redlock::detail
