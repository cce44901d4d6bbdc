// The metrics of a client, and their text for Prometheus.
// SPDX-License-Identifier: MIT
#include "value/metrics.hpp"

#include <cstdio>
#include <string>
#include <utility>

namespace redlock {

namespace {

std::string label_of(std::string_view name, std::string_view value) {
    std::string label(name);
    label += "=\"";
    for (const char c : value) {
        if (c == '\\' || c == '"') label += '\\';
        if (c == '\n') {
            label += "\\n";
        } else {
            label += c;
        }
    }
    return label += '"';
}

enum class text_form { open_metrics, prometheus };

class metrics_writer {
public:
    explicit metrics_writer(text_form form) : form_(form) {}

    /// In OpenMetrics a family of a counter has no "_total", and one with a unit says which.
    void describe(std::string_view metric, std::string_view help, std::string_view type) {
        constexpr std::string_view total = "_total";
        const bool is_open = form_ == text_form::open_metrics;
        if (is_open && metric.ends_with(total)) metric.remove_suffix(total.size());
        if (is_open && metric.ends_with("_seconds")) {
            text_.append("# UNIT ").append(metric).append(" seconds\n");
        }
        text_.append("# HELP ").append(metric).append(" ").append(help).append("\n");
        text_.append("# TYPE ").append(metric).append(" ").append(type).append("\n");
    }
    /// `label`: empty, or made by `label_of`.
    void add(std::string_view metric, const std::string& label, std::uint64_t value) {
        line(metric, label, std::to_string(value));
    }
    void add(std::string_view metric, const std::string& label, const histogram& of) {
        const std::string bucket = std::string(metric) + "_bucket";
        const std::string before = label.empty() ? "" : label + ",";
        std::uint64_t so_far = 0;
        for (std::size_t i = 0; i < of.bounds.size(); ++i) {
            so_far += of.counts[i];
            line(bucket, before + "le=\"" + seconds(of.bounds[i]) + "\"", std::to_string(so_far));
        }
        const std::string all = std::to_string(of.count());
        line(bucket, before + "le=\"+Inf\"", all);
        line(std::string(metric) + "_sum", label, seconds(of.sum));
        line(std::string(metric) + "_count", label, all);
    }
    std::string take() {
        if (form_ == text_form::open_metrics) text_ += "# EOF\n";
        return std::move(text_);
    }

private:
    void line(std::string_view name, std::string_view labels, std::string_view value) {
        text_.append(name);
        if (!labels.empty()) text_.append("{").append(labels).append("}");
        text_.append(" ").append(value).append("\n");
    }

    static std::string seconds(std::chrono::microseconds span) {
        char text[32];
        const auto us = static_cast<long long>(span.count());
        std::snprintf(text, sizeof text, "%lld.%06lld", us / 1'000'000, us % 1'000'000);
        return text;
    }

    text_form form_;
    std::string text_;
};

std::string text_of(const client_stats& stats, text_form form) {
    metrics_writer out(form);
    const auto add_all = [&](const auto& list, std::string_view type) {
        for (const auto& m : list) {
            if (!m.help.empty()) out.describe(m.metric, m.help, type);
            const bool is_one_of_several = m.metric == detail::outcome_counters[0].metric;
            out.add(m.metric, is_one_of_several ? label_of("outcome", m.name) : "",
                    stats.*m.member);
        }
    };
    add_all(detail::outcome_counters, "counter");
    add_all(detail::traffic_counters, "counter");
    add_all(detail::gauges, "gauge");
    add_all(detail::histograms, "histogram");
    const auto add_nodes = [&](std::string_view metric, std::string_view help,
                               std::string_view type, auto member) {
        out.describe(metric, help, type);
        for (const node_stats& n : stats.nodes) {
            out.add(metric, label_of("node", n.name), n.*member);
        }
    };
    add_nodes("redlock_node_round_trip_seconds", "From sending a command to a node to its answer.",
              "histogram", &node_stats::round_trip);
    add_nodes("redlock_node_owed_releases", "Releases that a node has to get on reconnection.",
              "gauge", &node_stats::owed_releases);
    add_nodes("redlock_node_connected", "1 while the client is connected to a node.", "gauge",
              &node_stats::connected);
    add_nodes("redlock_node_votes", "1 while a node is connected and may vote.", "gauge",
              &node_stats::votes);
    return out.take();
}

}  // namespace

std::string open_metrics(const client_stats& stats) {
    return text_of(stats, text_form::open_metrics);
}

std::string prometheus_text(const client_stats& stats) {
    return text_of(stats, text_form::prometheus);
}

}  // namespace redlock
