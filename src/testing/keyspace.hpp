// The keys of a server in memory, its clock, and what it answers.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace redlock::fakes {

class sorted_set {
public:
    /// Those of one score are in the order of their members' bytes.
    using in_order = std::set<std::pair<double, std::string>>;

    /// Whether it is a new one; another score of one that is there takes the place of the old.
    bool put(const std::string& member, double score);
    bool erase(std::string_view member);
    std::optional<double> score_of(std::string_view member) const;
    /// How many are before it.
    std::optional<std::size_t> rank_of(std::string_view member) const;
    const in_order& all() const noexcept { return by_score_; }

private:
    in_order by_score_;
    std::map<std::string, double, std::less<>> by_member_;
};

struct stored {
    using list = std::vector<std::string>;
    using set = std::set<std::string, std::less<>>;

    std::variant<std::string, list, sorted_set, set> value{};
    std::optional<std::int64_t> expires_ms{};  ///< The last ms of the node's clock that it sees.

    const std::string* text() const noexcept { return std::get_if<std::string>(&value); }
    bool is_gone(std::int64_t now_ms) const noexcept { return expires_ms && now_ms > *expires_ms; }
};

class keyspace {
public:
    using map = std::map<std::string, stored, std::less<>>;

    /// Null where there is none; one that has run out goes here.
    stored* find(std::string_view key, std::int64_t now_ms);
    void put(std::string_view key, stored what);
    bool erase(std::string_view key, std::int64_t now_ms);
    void clear() noexcept { keys_.clear(); }
    /// Removes what has run out, as a server does in the background.
    void sweep(std::int64_t now_ms);
    /// Also what has run out and was not looked for since.
    const map& all() const noexcept { return keys_; }

private:
    map keys_;
};

struct model_reply {
    enum class kind : std::uint8_t { nil, integer, status, error, bulk, array };

    kind type = kind::nil;
    std::int64_t number = 0;
    std::string text{};
    std::vector<model_reply> items{};

    static model_reply nil() { return {}; }
    static model_reply integer(std::int64_t n) { return {kind::integer, n}; }
    static model_reply status(std::string s) { return {kind::status, 0, std::move(s)}; }
    static model_reply ok() { return status("OK"); }
    static model_reply error(std::string s) { return {kind::error, 0, std::move(s)}; }
    static model_reply bulk(std::string s) { return {kind::bulk, 0, std::move(s)}; }
    static model_reply array(std::vector<model_reply> of) {
        return {kind::array, 0, {}, std::move(of)};
    }
    bool is_error() const noexcept { return type == kind::error; }
};

std::string to_resp2(const model_reply& r);
void append_resp2(std::string& out, const model_reply& r);

using command = std::vector<std::string>;

std::string in_upper_case(std::string_view text);

class wall_clock {
public:
    /// In us since 1970. Never below zero as long as the offset is not absurd.
    std::int64_t us(time_point now) const noexcept {
        return start_us + offset_us_ + world_us(now) + drifted_us(now);
    }
    std::int64_t ms(time_point now) const noexcept { return us(now) / 1000; }

    /// The first instant, by the world's time, at which it shows `target` or later, as things are.
    time_point when_us(std::int64_t target) const noexcept {
        const std::int64_t ahead = target - us(time_point(std::chrono::microseconds(since_us_)));
        std::int64_t at = since_us_ + ahead - parts_of(ahead, drift_ppm_);
        const auto shows = [this](std::int64_t t) {
            return us(time_point(std::chrono::microseconds(t)));
        };
        // The estimate is off by the square of the drift: walk the rest, halving what is left.
        while (shows(at) < target) at += (target - shows(at) + 1) / 2;
        while (shows(at - 1) >= target) at -= (shows(at - 1) - target) / 2 + 1;
        return time_point(std::chrono::microseconds(at));
    }

    /// How far it is from the clock of a node that is right, drift aside.
    void set_offset(duration by) noexcept { offset_us_ = in_us(by); }
    void step(duration by) noexcept { offset_us_ += in_us(by); }
    /// From now on it gains so many us a second; it loses them where negative.
    void set_drift_ppm(std::int64_t ppm, time_point now) noexcept {
        drifted_us_ = drifted_us(now);
        since_us_ = world_us(now);
        drift_ppm_ = ppm;
    }

private:
    static constexpr std::int64_t start_us = 1'700'000'000'000'000;  // some day in 2023

    static std::int64_t in_us(duration d) noexcept {
        return std::chrono::floor<std::chrono::microseconds>(d).count();
    }
    static std::int64_t world_us(time_point t) noexcept { return in_us(t.time_since_epoch()); }
    static std::int64_t parts_of(std::int64_t whole, std::int64_t ppm) noexcept {
        return whole / 1'000'000 * ppm + whole % 1'000'000 * ppm / 1'000'000;
    }
    std::int64_t drifted_us(time_point now) const noexcept {
        return drifted_us_ + parts_of(world_us(now) - since_us_, drift_ppm_);
    }

    std::int64_t offset_us_ = 0;
    std::int64_t drift_ppm_ = 0;
    std::int64_t since_us_ = 0;    // from when on it drifts like this
    std::int64_t drifted_us_ = 0;  // before
};

}  // namespace redlock::fakes
