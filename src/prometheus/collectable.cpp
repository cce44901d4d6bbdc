// A client's counters as prometheus-cpp collects them; knows neither client nor exporter.
// SPDX-License-Identifier: MIT
#include "value/metrics.hpp"

#include <redlock/prometheus.hpp>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;

double seconds(std::chrono::microseconds span) {
    return std::chrono::duration<double>(span).count();
}

MetricType type_of(detail::metric::kind type) {
    switch (type) {
        case detail::metric::kind::counter: return MetricType::Counter;
        case detail::metric::kind::gauge: return MetricType::Gauge;
        case detail::metric::kind::histogram: break;
    }
    return MetricType::Histogram;
}

ClientMetric::Histogram histogram_of(const histogram& durations) {
    ClientMetric::Histogram out;
    out.sample_count = durations.count();
    out.sample_sum = seconds(durations.sum);
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < durations.bounds.size(); ++i) {
        so_far += durations.counts[i];
        out.bucket.push_back({so_far, seconds(durations.bounds[i])});
    }
    out.bucket.push_back({out.sample_count, std::numeric_limits<double>::infinity()});
    return out;
}

// Of the fields for the value prometheus-cpp reads the one of the family's type.
ClientMetric metric_of(const detail::metric_series& s) {
    ClientMetric out;
    if (!s.label.empty()) out.label.push_back({std::string(s.label), std::string(s.label_value)});
    if (s.durations != nullptr) {
        out.histogram = histogram_of(*s.durations);
    } else {
        out.counter.value = out.gauge.value = static_cast<double>(s.value);
    }
    return out;
}

class stats_collectable final : public ::prometheus::Collectable {
public:
    explicit stats_collectable(std::function<client_stats()> read) : read_(std::move(read)) {}
    std::vector<MetricFamily> Collect() const override {
        const client_stats stats = read_();
        std::vector<MetricFamily> out;
        for (const detail::metric& m : detail::metrics_of(stats)) {
            MetricFamily family{std::string(m.name), std::string(m.help), type_of(m.type), {}};
            for (const detail::metric_series& s : m.series) family.metric.push_back(metric_of(s));
            out.push_back(std::move(family));
        }
        return out;
    }

private:
    std::function<client_stats()> read_;
};

}  // namespace

std::shared_ptr<::prometheus::Collectable> collectable(std::function<client_stats()> read) {
    return std::make_shared<stats_collectable>(std::move(read));
}

}  // namespace redlock
