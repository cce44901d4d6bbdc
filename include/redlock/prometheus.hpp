// A client's counters for prometheus-cpp, by the library redlock::prometheus; compiles without
// prometheus-cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/stats.hpp>

#include <functional>
#include <memory>

namespace prometheus {
class Collectable;
}

namespace redlock {

/// The metrics of `open_metrics`, with the same names, help, labels and bounds, for an exporter of
/// prometheus-cpp: `exposer.RegisterCollectable(made)`. Each scrape reads them again.
///
/// `read` is called by the exporter's threads: it is thread-safe and must not throw, as
/// `[&client] { return client.stats(); }` is and does. What it refers to has to outlive every copy
/// of the result, and any scrape that goes on. The exporter keeps only a weak pointer: once the
/// caller drops the result there are no metrics any more.
///
/// A process that exports several clients tells their metrics apart by what it registers them with:
/// the path of an exposer, the labels of a push gateway. One exporter must not get two of the same.
///
/// **Preconditions.** `read` is not empty.
/// **Thread safety.** Any thread may call it, and what it returns.
std::shared_ptr<::prometheus::Collectable> collectable(std::function<client_stats()> read);

}  // namespace redlock
