// JSON with the place of each value, and the list of problems found there.
// SPDX-License-Identifier: MIT
#include "config/json.hpp"

#include "value/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace redlock::config {

void report::error(const std::string& where, std::string message) {
    add({config_issue::level::error, where, std::move(message)});
}

void report::add(config_issue issue) {
    // A reader of more than that mends the first ones and tries again.
    constexpr std::size_t max_errors = 100;
    if (issue.severity == config_issue::level::error) {
        failed_ = true;
        if (places_.size() > max_errors || !places_.insert(issue.where).second) return;
        if (places_.size() > max_errors) {
            issue = {config_issue::level::error, "", "has more problems, which are not listed"};
        }
    }
    issues_->push_back(std::move(issue));
}

std::string step(std::string_view base, std::string_view name) {
    std::string out(base);
    out += '/';
    for (const char c : text::printable(name, 80)) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

std::string step(std::string_view base, std::size_t index) {
    return std::string(base) + '/' + std::to_string(index);
}

namespace {

// The message of a syntax error without the text that it quotes: that may be a password.
std::string syntax_reason(const nlohmann::json::exception& e) {
    if (e.id == 406) return "the number is too large";
    std::string_view what = e.what();
    if (const auto dash = what.find(" - "); dash != what.npos) what.remove_prefix(dash + 3);
    return std::string(what.substr(0, what.find("; last read: ")));
}

std::string line_and_column(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto start = before.rfind('\n');
    const std::size_t column = before.size() - (start == before.npos ? 0 : start + 1) + 1;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Builds the tree from the parser's events, so that nothing is built of what exceeds the bounds,
// and names that come twice are seen (a ready-made tree keeps one of them silently).
class builder : public nlohmann::json_sax<nlohmann::json> {
public:
    builder(std::string_view text, report& out) : text_(text), out_(&out) {
        levels_.reserve(max_depth);  // `dropped` is pointed to, so levels stay where they are
    }

    json take() { return std::move(root_); }

    bool null() override { return put({}); }
    bool boolean(bool value) override {
        json v;
        v.kind = json_kind::boolean;
        v.truth = value;
        return put(std::move(v));
    }
    bool number_integer(number_integer_t value) override { return put_number(double(value)); }
    bool number_unsigned(number_unsigned_t value) override { return put_number(double(value)); }
    bool number_float(number_float_t value, const string_t&) override { return put_number(value); }
    bool string(string_t& value) override {
        json v;
        v.kind = json_kind::string;
        v.text = std::move(value);
        return put(std::move(v));
    }
    bool binary(binary_t&) override { return false; }  // no JSON text has any

    bool start_array(std::size_t) override { return open(json_kind::array); }
    bool end_array() override { return close(); }
    bool start_object(std::size_t) override { return open(json_kind::object); }
    bool end_object() override { return close(); }

    bool key(string_t& name) override {
        level& here = levels_.back();
        here.name = std::move(name);
        here.duplicate = here.value->find(here.name) != nullptr;
        if (here.duplicate) out_->error(pointer(), "is given twice; keep one of them");
        return true;
    }

    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::json::exception& e) override {
        const std::size_t at = position == 0 ? 0 : position - 1;  // it counts what was read
        out_->error("", "is no JSON at " + line_and_column(text_, at) + ": " +
                            syntax_reason(e));
        return false;
    }

private:
    struct level {
        json* value;
        std::string name;
        bool duplicate = false;
        json dropped{};  // takes the second value of a name that comes twice
    };

    std::string pointer() const {
        std::string out;
        for (const level& l : levels_) {
            if (l.value->kind == json_kind::object) {
                out = step(out, l.name);
            } else {
                out = step(out, l.value->items.empty() ? 0 : l.value->items.size() - 1);
            }
        }
        return out;
    }

    json* place(json v) {
        if (levels_.empty()) {
            root_ = std::move(v);
            return &root_;
        }
        level& here = levels_.back();
        if (here.value->kind == json_kind::array) {
            return &here.value->items.emplace_back(std::move(v));
        }
        if (here.duplicate) {
            here.dropped = std::move(v);
            return &here.dropped;
        }
        return &here.value->members.emplace_back(json_member{here.name, std::move(v)}).value;
    }

    bool put(json v) {
        if (++values_ > max_values) {
            out_->error("", "has more than " + std::to_string(max_values) + " values");
            return false;
        }
        place(std::move(v));
        return true;
    }

    bool put_number(double value) {
        json v;
        v.kind = json_kind::number;
        v.number = value;
        return put(std::move(v));
    }

    bool open(json_kind kind) {
        if (levels_.size() == max_depth || ++values_ > max_values) {
            out_->error("", "is nested too deep, or has too many values");
            return false;
        }
        json v;
        v.kind = kind;
        json* where = place(std::move(v));
        // The pointers of the levels stay good: only the innermost value grows.
        levels_.push_back({where, {}});
        return true;
    }

    bool close() {
        levels_.pop_back();
        return true;
    }

    std::string_view text_;
    report* out_;
    json root_;
    std::vector<level> levels_;
    std::size_t values_ = 0;
};

}  // namespace

const json* json::find(std::string_view name) const {
    const auto hit = std::find_if(members.begin(), members.end(),
                                  [&](const auto& m) { return m.name == name; });
    return hit == members.end() ? nullptr : &hit->value;
}

std::optional<json> parse_json(std::string_view text, report& out) {
    if (text.size() > max_text_bytes) {
        out.error("", "is longer than 1 MiB");
        return std::nullopt;
    }
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    builder events(text, out);
    const auto format = nlohmann::json::input_format_t::json;
    const bool whole = nlohmann::json::sax_parse(text, &events, format, /*strict*/ true,
                                                 /*ignore_comments*/ true);
    if (!whole) return std::nullopt;
    return events.take();
}

}  // namespace redlock::config
