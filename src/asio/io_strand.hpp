// The strand on which all of a client's handlers run; knows none of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>

#include <utility>

namespace redlock::detail {

/// The caller's executor. A strand asks its executor for each handler whether `execute` may block,
/// and `any_io_executor` allocates memory for the answer. So this class keeps the answer.
class io_executor {
public:
    /// No constructor: to learn whether this class can be copied, a compiler would then ask whether
    /// it is an executor, and to learn that, whether it can be copied.
    static io_executor over(const boost::asio::any_io_executor& inner) {
        return {inner, boost::asio::query(inner, boost::asio::execution::blocking)};
    }

    const boost::asio::any_io_executor& inner() const noexcept { return inner_; }

    // What Asio requires of an executor, and what a strand asks for.
    boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
        return boost::asio::query(inner_, boost::asio::execution::context);
    }
    boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
        return blocking_;
    }
    io_executor require(boost::asio::execution::blocking_t::never_t never) const {
        return {boost::asio::require(inner_, never), never};
    }
    io_executor prefer(boost::asio::execution::outstanding_work_t::tracked_t tracked) const {
        return {boost::asio::prefer(inner_, tracked), blocking_};
    }
    template <class F>
    void execute(F&& f) const {
        inner_.execute(std::forward<F>(f));
    }
    friend bool operator==(const io_executor& a, const io_executor& b) noexcept {
        return a.inner_ == b.inner_;
    }

private:
    io_executor(boost::asio::any_io_executor inner, boost::asio::execution::blocking_t blocking)
        : inner_(std::move(inner)), blocking_(blocking) {}

    boost::asio::any_io_executor inner_;
    boost::asio::execution::blocking_t blocking_;
};

using io_strand = boost::asio::strand<io_executor>;

}  // namespace redlock::detail
