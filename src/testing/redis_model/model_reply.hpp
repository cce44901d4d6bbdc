// What a Redis master answers, as a tree, and its bytes in RESP2; knows no command and no script.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace redlock::fakes {

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

}  // namespace redlock::fakes
