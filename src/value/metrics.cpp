// Counters and histograms as text for Prometheus.
// SPDX-License-Identifier: MIT
#include <redlock/stats.hpp>

#include <cstdio>
#include <string_view>
#include <utility>

namespace redlock {

namespace {

class metrics_writer {
public:
    void counter(std::string_view name, std::string_view help, std::uint64_t value) {
        // `promtool check metrics` of Debian 12 reads "_total" as part of a counter's name.
        const std::string whole = std::string(name) + "_total";
        describe(whole, "counter", help);
        line(whole, "", std::to_string(value));
    }
    void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
        describe(name, "gauge", help);
        line(name, "", std::to_string(value));
    }
    void durations(std::string_view name, std::string_view help, const histogram& of) {
        describe(name, "histogram", help);
        buckets(name, "", of);
    }
    void describe(std::string_view name, std::string_view type, std::string_view help) {
        text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
        text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
    }
    /// `labels` is empty, or ends with a comma.
    void buckets(std::string_view name, const std::string& labels, const histogram& of) {
        const std::string bucket = std::string(name) + "_bucket";
        std::uint64_t so_far = 0;
        for (std::size_t i = 0; i < of.bounds.size(); ++i) {
            so_far += of.counts[i];
            line(bucket, labels + "le=\"" + seconds(of.bounds[i]) + "\"", std::to_string(so_far));
        }
        const std::string all = std::to_string(so_far + of.counts.back());
        line(bucket, labels + "le=\"+Inf\"", all);
        const std::string rest = labels.empty() ? "" : labels.substr(0, labels.size() - 1);
        line(std::string(name) + "_sum", rest, seconds(of.sum));
        line(std::string(name) + "_count", rest, all);
    }
    void line(std::string_view name, std::string_view labels, std::string_view value) {
        text_.append(name);
        if (!labels.empty()) text_.append("{").append(labels).append("}");
        text_.append(" ").append(value).append("\n");
    }
    std::string take() { return std::move(text_.append("# EOF\n")); }

    static std::string seconds(std::chrono::microseconds span) {
        char text[32];
        const auto us = static_cast<long long>(span.count());
        std::snprintf(text, sizeof text, "%lld.%06lld", us / 1'000'000, us % 1'000'000);
        return text;
    }

private:
    std::string text_;
};

std::string node_label(std::string_view name) {
    std::string label = "node=\"";
    for (const char c : name) {
        if (c == '\\' || c == '"') label += '\\';
        if (c == '\n') {
            label += "\\n";
        } else {
            label += c;
        }
    }
    return label + "\",";
}

void add_acquires(metrics_writer& out, const client_stats& s) {
    constexpr std::string_view name = "redlock_acquires_total";
    out.describe(name, "counter", "Acquires that ended, by their outcome.");
    for (const auto& [outcome, count] :
         {std::pair("granted", s.granted), std::pair("contended", s.contended),
          std::pair("no_quorum", s.no_quorum),
          std::pair("validity_exhausted", s.validity_exhausted),
          std::pair("cancelled", s.cancelled)}) {
        out.line(name, std::string("outcome=\"") + outcome + "\"", std::to_string(count));
    }
}

void add_nodes(metrics_writer& out, const std::vector<node_stats>& nodes) {
    constexpr std::string_view round_trip = "redlock_node_round_trip_seconds";
    out.describe(round_trip, "histogram", "From sending a command to a node to its answer.");
    for (const node_stats& n : nodes) out.buckets(round_trip, node_label(n.name), n.round_trip);
    constexpr std::string_view owed = "redlock_node_owed_releases";
    out.describe(owed, "gauge", "Releases that a node has to get on reconnection.");
    for (const node_stats& n : nodes) {
        std::string label = node_label(n.name);
        label.pop_back();
        out.line(owed, label, std::to_string(n.owed_releases));
    }
}

}  // namespace

std::string open_metrics(const client_stats& s) {
    metrics_writer out;
    add_acquires(out, s);
    out.counter("redlock_retries", "Attempts after the first of an acquire.", s.retries);
    out.counter("redlock_second_rounds", "Rounds above a fence that a first round met.",
                s.second_rounds);
    out.counter("redlock_releases", "Leases released by their holder.", s.released);
    out.counter("redlock_lost_leases", "Leases lost.", s.lost);
    out.counter("redlock_renewals", "Times that a quorum prolonged a lease.", s.renewals);
    out.counter("redlock_renewal_failures", "Times that a renewal of a lease failed.",
                s.renewal_failures);
    out.counter("redlock_commands", "Commands handed to connections.", s.commands);
    out.counter("redlock_writes", "Writes to sockets.", s.writes);
    out.counter("redlock_reads", "Reads from sockets.", s.reads);
    out.counter("redlock_timeouts", "Commands without an answer in time.", s.timeouts);
    out.counter("redlock_late_replies", "Answers to commands that had timed out.", s.late_replies);
    out.counter("redlock_connects", "Handshakes completed.", s.connects);
    out.counter("redlock_disconnects", "Connections lost, refused or given up.", s.disconnects);
    out.counter("redlock_owed_releases", "Releases postponed to the next connection.",
                s.owed_releases);
    out.gauge("redlock_leases", "Leases held now.", s.leases);
    out.gauge("redlock_waiting", "Acquires that wait now.", s.waiting);
    out.durations("redlock_wait_seconds", "From the call of an acquire to its grant.", s.wait);
    out.durations("redlock_hold_seconds", "From a grant to the end of the lease.", s.hold);
    out.durations("redlock_renewal_seconds", "From sending an extension to its success.",
                  s.renewal);
    out.durations("redlock_remaining_seconds",
                  "Validity that was left when a lease ended, other than by loss.", s.remaining);
    add_nodes(out, s.nodes);
    return out.take();
}

}  // namespace redlock
