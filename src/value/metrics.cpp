// The metrics of a client, and their text for Prometheus.
// SPDX-License-Identifier: MIT
#include "value/metrics.hpp"

#include <cstdio>
#include <string>
#include <utility>

namespace redlock {

namespace detail {

namespace {

using enum metric::kind;

metric one(std::string_view name, std::string_view help, metric::kind type, std::uint64_t value) {
    return {name, help, type, {{.value = value}}};
}

metric durations(std::string_view name, std::string_view help, const redlock::histogram& of) {
    return {name, help, histogram, {{.durations = &of}}};
}

metric acquires(const client_stats& s) {
    metric made{"redlock_acquires_total", "Acquires that ended, by their outcome.", counter, {}};
    for (const auto& [outcome, count] :
         {std::pair("granted", s.granted), std::pair("contended", s.contended),
          std::pair("no_quorum", s.no_quorum),
          std::pair("validity_exhausted", s.validity_exhausted),
          std::pair("cancelled", s.cancelled)}) {
        made.series.push_back({.label = "outcome", .label_value = outcome, .value = count});
    }
    return made;
}

metric round_trips(const client_stats& s) {
    metric made{"redlock_node_round_trip_seconds",
                "From sending a command to a node to its answer.",
                histogram,
                {}};
    for (const node_stats& n : s.nodes) {
        made.series.push_back({.label = "node", .label_value = n.name, .durations = &n.round_trip});
    }
    return made;
}

metric owed_releases(const client_stats& s) {
    metric made{"redlock_node_owed_releases",
                "Releases that a node has to get on reconnection.",
                gauge,
                {}};
    for (const node_stats& n : s.nodes) {
        made.series.push_back({.label = "node", .label_value = n.name, .value = n.owed_releases});
    }
    return made;
}

}  // namespace

std::vector<metric> metrics_of(const client_stats& s) {
    return {
        acquires(s),
        one("redlock_retries_total", "Attempts after the first of an acquire.", counter, s.retries),
        one("redlock_second_rounds_total", "Rounds above a fence that a first round met.", counter,
            s.second_rounds),
        one("redlock_releases_total", "Leases released by their holder.", counter, s.released),
        one("redlock_lost_leases_total", "Leases lost.", counter, s.lost),
        one("redlock_renewals_total", "Times that a quorum prolonged a lease.", counter,
            s.renewals),
        one("redlock_renewal_failures_total", "Times that a renewal of a lease failed.", counter,
            s.renewal_failures),
        one("redlock_commands_total", "Commands handed to connections.", counter, s.commands),
        one("redlock_writes_total", "Writes to sockets.", counter, s.writes),
        one("redlock_reads_total", "Reads from sockets.", counter, s.reads),
        one("redlock_timeouts_total", "Commands without an answer in time.", counter, s.timeouts),
        one("redlock_late_replies_total", "Answers to commands that had timed out.", counter,
            s.late_replies),
        one("redlock_connects_total", "Handshakes completed.", counter, s.connects),
        one("redlock_disconnects_total", "Connections lost, refused or given up.", counter,
            s.disconnects),
        one("redlock_owed_releases_total", "Releases postponed to the next connection.", counter,
            s.owed_releases),
        one("redlock_leases", "Leases held now.", gauge, s.leases),
        one("redlock_waiting", "Acquires that wait now.", gauge, s.waiting),
        durations("redlock_wait_seconds", "From the call of an acquire to its grant.", s.wait),
        durations("redlock_hold_seconds", "From a grant to the end of the lease.", s.hold),
        durations("redlock_renewal_seconds", "From sending an extension to its success.",
                  s.renewal),
        durations("redlock_remaining_seconds",
                  "Validity that was left when a lease ended, other than by loss.", s.remaining),
        round_trips(s),
        owed_releases(s),
    };
}

}  // namespace detail

namespace {

class metrics_writer {
public:
    // `promtool check metrics` of Debian 12 reads "_total" as part of a counter's name.
    void describe(const detail::metric& m) {
        text_.append("# HELP ").append(m.name).append(" ").append(m.help).append("\n");
        text_.append("# TYPE ").append(m.name).append(" ").append(name_of(m.type)).append("\n");
    }
    void series(const detail::metric& m, const detail::metric_series& s) {
        const std::string label = label_of(s);
        if (s.durations == nullptr) return line(m.name, label, std::to_string(s.value));
        buckets(m.name, label, *s.durations);
    }
    std::string take() { return std::move(text_.append("# EOF\n")); }

private:
    void buckets(std::string_view name, const std::string& label, const histogram& of) {
        const std::string bucket = std::string(name) + "_bucket";
        const std::string before = label.empty() ? "" : label + ",";
        std::uint64_t so_far = 0;
        for (std::size_t i = 0; i < of.bounds.size(); ++i) {
            so_far += of.counts[i];
            line(bucket, before + "le=\"" + seconds(of.bounds[i]) + "\"", std::to_string(so_far));
        }
        const std::string all = std::to_string(of.count());
        line(bucket, before + "le=\"+Inf\"", all);
        line(std::string(name) + "_sum", label, seconds(of.sum));
        line(std::string(name) + "_count", label, all);
    }
    void line(std::string_view name, std::string_view labels, std::string_view value) {
        text_.append(name);
        if (!labels.empty()) text_.append("{").append(labels).append("}");
        text_.append(" ").append(value).append("\n");
    }

    static std::string_view name_of(detail::metric::kind type) {
        switch (type) {
            case detail::metric::kind::counter: return "counter";
            case detail::metric::kind::gauge: return "gauge";
            case detail::metric::kind::histogram: break;
        }
        return "histogram";
    }
    static std::string label_of(const detail::metric_series& s) {
        if (s.label.empty()) return {};
        std::string label(s.label);
        label += "=\"";
        for (const char c : s.label_value) {
            if (c == '\\' || c == '"') label += '\\';
            if (c == '\n') {
                label += "\\n";
            } else {
                label += c;
            }
        }
        return label += '"';
    }
    static std::string seconds(std::chrono::microseconds span) {
        char text[32];
        const auto us = static_cast<long long>(span.count());
        std::snprintf(text, sizeof text, "%lld.%06lld", us / 1'000'000, us % 1'000'000);
        return text;
    }

    std::string text_;
};

}  // namespace

std::string open_metrics(const client_stats& stats) {
    metrics_writer out;
    for (const detail::metric& m : detail::metrics_of(stats)) {
        out.describe(m);
        for (const detail::metric_series& s : m.series) out.series(m, s);
    }
    return out.take();
}

}  // namespace redlock
