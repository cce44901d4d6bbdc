// A world in text.
// SPDX-License-Identifier: MIT
#include "simulation/plan_text.hpp"

#include "tests/support/trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace redlock::simulation {

namespace {

using namespace std::string_literals;

/// Nodes or programs, as bits in the plan, and as their numbers in text.
struct numbers {
    std::uint32_t& bits;
};

// Every field of a plan, once: `each(name, field)` writes or reads it.
template <class F>
void fields(plan& of, F&& each) {
    each("seed", of.seed);
    each("within", of.within);
    each("about", of.about);
    each("length", of.length);
    each("node_timeout", of.node_timeout);
    each("connect_timeout", of.connect_timeout);
    each("ttl_max", of.ttl_max);
    each("drift_factor", of.drift_factor);
    each("drift_min", of.drift_min);
    each("resources", of.resources);
    each("slots", of.slots);
    each("limit", of.limit);
    each("period", of.period);
    each("tail", of.tail);
    each("tail_delay", of.tail_delay);
    each("are_twins", of.are_twins);
    each("has_notes", of.has_notes);
    each("double_of", of.double_of);
    each("most_turns", of.most_turns);
    each("open_from", of.open_from);
    each("longest_vacancy", of.longest_vacancy);
    each("between_bursts", of.between_bursts);
    each("changes_lists", of.changes_lists);
    each("sets_back", of.sets_back);
    each("has_detours", of.has_detours);
    each("is_only_safe", of.is_only_safe);
    each("promise", of.promise);
}

template <class F>
void fields(node_plan& of, F&& each) {
    each("is_durable", of.is_durable);
    each("clock_offset", of.clock_offset);
    each("drift_ppm", of.drift_ppm);
    each("latency", of.latency);
}

template <class F>
void fields(program_plan& of, F&& each) {
    each("begins", of.begins);
    each("ends", of.ends);
    each("does", of.does);
    each("drift_ppm", of.drift_ppm);
    each("workers", of.workers);
    each("longest_ttl", of.longest_ttl);
    each("longest_think", of.longest_think);
    each("has_wanderlust", of.has_wanderlust);
    each("is_duellist", of.is_duellist);
    each("is_keeper", of.is_keeper);
    each("is_rival", of.is_rival);
    each("is_candidate", of.is_candidate);
    each("reads", of.reads);
    each("takes_slots", of.takes_slots);
    each("slots", of.slots);
    each("takes_permits", of.takes_permits);
    each("calls", of.calls);
    each("takes_several", of.takes_several);
    each("keeps", of.keeps);
    each("downgrades", of.downgrades);
    each("hands_over", of.hands_over);
    each("changes_tokens", of.changes_tokens);
    each("is_fenced", of.is_fenced);
    each("is_guarded", of.is_guarded);
    each("looks_first", of.looks_first);
    each("list", numbers{of.list});
    each("list_after", numbers{of.list_after});
    each("gives_up", of.gives_up);
    each("ttl_max", of.ttl_max);
}

template <class F>
void fields(foreigner_plan& of, F&& each) {
    each("begins", of.begins);
    each("ttl", of.ttl);
    each("longest_think", of.longest_think);
    each("list", of.list);
    each("ends", of.ends);
}

template <class F>
void fields(fault& of, F&& each) {
    each("kind", of.kind);
    each("at", of.at);
    each("lasts", of.lasts);
    each("nodes", numbers{of.nodes});
    each("programs", numbers{of.programs});
    each("amount", of.amount);
    each("to_nodes", of.to_nodes);
    each("from_nodes", of.from_nodes);
    each("cuts", of.cuts);
}


constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> units{
    {{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};

struct writing {
    std::string operator()(bool v) const { return v ? "yes" : "no"; }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(double v) const {
        std::array<char, 32> out{};
        return {out.data(), std::to_chars(out.data(), out.data() + out.size(), v).ptr};
    }
    std::string operator()(std::integral auto v) const { return std::to_string(v); }
    template <class E>
        requires std::is_enum_v<E>
    std::string operator()(E v) const {
        return name_of(v);
    }
    template <class R, class P>
    std::string operator()(std::chrono::duration<R, P> v) const {
        const auto ns = std::chrono::nanoseconds(v).count();
        const auto& [unit, size] = *std::find_if(
            units.begin(), units.end() - 1, [&](const auto& u) { return std::abs(ns) >= u.second; });
        std::string part = std::to_string(size + std::abs(ns) % size);
        part.erase(part.find_last_not_of('0') + 1);
        part.front() = '.';
        const std::string sign = ns < 0 ? "-" : "";
        return sign + std::to_string(std::abs(ns) / size) + (part == "." ? "" : part) +
               std::string(unit);
    }
    template <class T>
    std::string operator()(const std::optional<T>& v) const {
        return v ? (*this)(*v) : "none";
    }
    std::string operator()(const numbers& v) const {
        if (v.bits == all_nodes) return "all";
        std::string out;
        for (std::size_t i = 0; i < 32; ++i) {
            if ((v.bits >> i & 1U) != 0) out += (out.empty() ? "" : ",") + std::to_string(i);
        }
        return out.empty() ? "none" : out;
    }
};

struct reading {
    void operator()(const std::string& text, bool& out) const {
        if (text != "yes" && text != "no") throw std::invalid_argument("write yes or no");
        out = text == "yes";
    }
    void operator()(const std::string& text, std::string& out) const { out = text; }
    template <class T>
        requires std::integral<T> || std::floating_point<T>
    void operator()(const std::string& text, T& out) const {
        if (number(text, out) != text.data() + text.size()) {
            throw std::invalid_argument("write a number");
        }
    }
    template <class E>
        requires std::is_enum_v<E>
    void operator()(const std::string& text, E& out) const {
        std::string all;
        for (std::size_t i = 0; i < names_of(E{}).size(); ++i) {
            out = static_cast<E>(i);
            if (text == name_of(out)) return;
            all += (all.empty() ? "" : ", ") + std::string(name_of(out));
        }
        throw std::invalid_argument("write one of " + all);
    }
    template <class R, class P>
    void operator()(const std::string& text, std::chrono::duration<R, P>& out) const {
        std::int64_t whole = 0;
        const char* at = number(text, whole);
        std::string_view part = "0";
        if (*at == '.') {
            const std::string_view rest(at + 1);
            part = rest.substr(0, rest.find_first_not_of("0123456789"));
            at += 1 + part.size();
        }
        for (auto [name, size] : units) {
            if (name != at) continue;
            std::int64_t ns = std::abs(whole) * size;
            for (const char digit : part) ns += (digit - '0') * (size /= 10);
            const std::chrono::nanoseconds all(text.front() == '-' ? -ns : ns);
            out = std::chrono::duration_cast<std::chrono::duration<R, P>>(all);
            if (out == all && (size > 0 || part == "0")) return;
        }
        throw std::invalid_argument("write a time in s, ms, us or ns, as 2.5s");
    }
    template <class T>
    void operator()(const std::string& text, std::optional<T>& out) const {
        (*this)(text, out.emplace());
    }
    void operator()(const std::string& text, const numbers& out) const {
        out.bits = text == "all" ? all_nodes : 0;
        if (text == "all" || text == "none") return;
        std::istringstream items(text);
        for (std::string item; std::getline(items, item, ',');) {
            std::uint32_t i = 0;
            (*this)(item, i);
            if (i >= 32) throw std::invalid_argument("write numbers below 32");
            out.bits |= 1U << i;
        }
    }

private:
    template <class T>
    static const char* number(const std::string& text, T& out) {
        const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), out);
        if (why != std::errc()) throw std::invalid_argument("write a number");
        return end;
    }
};

template <class T>
std::string line_of(const char* word, T of) {
    std::string out = word;
    T empty{};
    std::vector<std::string> usual;
    fields(empty, [&](const char*, const auto& v) { usual.push_back(writing{}(v)); });
    fields(of, [&, i = std::size_t{0}](const char* name, const auto& v) mutable {
        if (const std::string text = writing{}(v); text != usual[i++] || name == "kind"s) {
            out += " "s + name + "=" + text;
        }
    });
    return out + '\n';
}

template <class T>
T read_line(const testing::trace_command& line) {
    T out{};
    std::size_t known = 0;
    fields(out, [&](const std::string& name, auto&& v) {
        if (!line.has(name)) return;
        ++known;
        try {
            reading{}(line.text(name), v);
        } catch (const std::invalid_argument& why) {
            throw std::invalid_argument(name + ": " + why.what());
        }
    });
    if (known != line.words()) throw std::invalid_argument("it has words that no such line has");
    return out;
}

void read_line(const testing::trace_command& line, plan& out) {
    if (line.word() == "node") return out.nodes.push_back(read_line<node_plan>(line));
    if (line.word() == "program") return out.programs.push_back(read_line<program_plan>(line));
    if (line.word() == "foreigner") {
        return out.foreigners.push_back(read_line<foreigner_plan>(line));
    }
    if (line.word() == "fault") return out.faults.push_back(read_line<fault>(line));
    if (line.word() != "world" || !out.nodes.empty()) {
        throw std::invalid_argument("write world first, then node, program, foreigner and fault");
    }
    out = read_line<plan>(line);
}

bool names_what_is_there(const plan& in) {
    const auto is_some = [](std::size_t count) { return count >= 1 && count <= 32; };
    return is_some(in.nodes.size()) && is_some(in.programs.size()) &&
           std::all_of(in.faults.begin(), in.faults.end(), [&](const fault& f) {
               return (std::uint64_t{f.nodes} >> in.nodes.size()) == 0 &&
                      (std::uint64_t{f.programs} >> in.programs.size()) == 0;
           });
}

}  // namespace

std::string text_of(const plan& what) {
    std::string out = line_of("world", what);
    for (const node_plan& n : what.nodes) out += line_of("node", n);
    for (const program_plan& p : what.programs) out += line_of("program", p);
    for (const foreigner_plan& f : what.foreigners) out += line_of("foreigner", f);
    for (const fault& f : what.faults) out += line_of("fault", f);
    return out;
}

plan read_plan(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in) throw std::invalid_argument(file.string() + " can't be read");
    plan out;
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.empty() || line.front() == '#') continue;
        try {
            read_line(testing::trace_command(line), out);
        } catch (const std::invalid_argument& why) {
            throw std::invalid_argument(file.string() + ":" + std::to_string(number) + ": " +
                                        why.what());
        }
    }
    if (!names_what_is_there(out)) {
        throw std::invalid_argument(file.string() + ": it needs a node and a program at least, and "
                                                    "all that its faults name");
    }
    return out;
}

}  // namespace redlock::simulation
