// What a contending program tells of its leases, line by line, in a file; knows no judge of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace redlock::judge {

/// What of a resource a lease is of. A resource as a whole and its slots are different locks.
struct part {
    enum class kind : char {
        whole = 'X',   ///< All of it: one holder, and no reader.
        shared = 'R',  ///< All of it, beside other readers.
        slot = 'K',    ///< One of `of` slots.
    };
    kind what = kind::whole;
    unsigned slot = 0;
    unsigned of = 0;

    bool is_shared() const noexcept { return what == kind::shared; }
    bool is_slot() const noexcept { return what == kind::slot; }
};

/// The names of the resources that stand in one line, of a lease of several.
std::vector<std::string> names_of(const std::string& resource);

/// "X", "R" or, as an example, "K2/5".
std::string to_text(const part& p);

/// One line. A section is what a holder does under one lease: granted, trusted now and then, ended.
///
/// A program that is killed leaves a section without an end. It gave nothing back then, since the
/// end is written before a release begins: nobody else may enter before the last `valid_until`.
struct entry {
    enum class kind : char {
        granted = 'G',  ///< The lease was handed out and trusted at `at`.
        trusted = 'S',  ///< It was still trusted at `at`.
        ended = 'E',    ///< `at` is the last instant at which nobody else may hold; `text`: how.
        refused = 'N',  ///< No lease; `text`: why.
        quiet = 'Q',    ///< Every contender of the program rests, and everything is given back.
        told = 'L',     ///< At `at` the holder learnt of a loss; `text`: why, or "trusted" where it
                        ///< could still trust the lease.
        idle = 'I',     ///< From `asked_at` to `at` the program was stopped, or kept from running.
        broken = 'V',   ///< The program itself saw a promise broken; `text`: which.
    };
    kind what = kind::quiet;
    std::uint64_t section = 0;
    unsigned contender = 0;
    std::string resource = "-";  ///< Or several that are held at once, with a plus between them.
    part of;
    std::string owner = "-";  ///< As it stands on the nodes.
    std::uint64_t fence = 0;
    clock::time_point at{};
    clock::time_point valid_until{};
    clock::time_point kept_until{};  ///< Nobody else is granted it before, however the lease ends.
    clock::time_point asked_at{};    ///< The acquire that was granted began then, or later.
    std::string text = "-";
};

std::string to_line(const entry& e);
std::optional<entry> parse(const std::string& line);

/// Appends to a file. Each line is there, whole, once `write()` returns, whatever kills us next.
class journal {
public:
    explicit journal(const std::filesystem::path& path);
    ~journal();
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;

    void write(const entry& e);

private:
    int file_;
};

/// Follows the file while another process writes it.
class journal_reader {
public:
    explicit journal_reader(std::filesystem::path path) : path_(std::move(path)) {}

    /// Every line that was finished since the last call. Throws where one cannot be understood.
    void read(const std::function<void(const entry&)>& take);
    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
    std::streamoff offset_ = 0;
};

}  // namespace redlock::judge
