// A completion handler that any thread may call, and that runs on its own executor; knows no
// operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/recycling.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <type_traits>
#include <utility>

namespace redlock::detail {

/// Posts the handler to the client's executor, from where Asio dispatches it to the handler's own
/// executor, which counts outstanding work until then. It is constructed where the handler's type
/// is known: behind an `any_completion_handler` each of these steps would allocate.
template <class Handler>
class homing_handler {
public:
    homing_handler(Handler h, boost::asio::any_io_executor through)
        : handler_(std::move(h)),
          through_(std::move(through)),
          work_(boost::asio::prefer(boost::asio::get_associated_executor(handler_, through_),
                                    boost::asio::execution::outstanding_work.tracked)) {}

    template <class... Results>
    void operator()(Results... results) {
        // The handler's own allocator may have room for one block only, which is in use now.
        auto rest = boost::asio::bind_allocator(
            recycling_memory<void>(),
            boost::asio::append(std::move(handler_), std::move(results)...));
        // A type-erased executor allocates for each post; the most frequent executor type is
        // therefore recovered first.
        if (const auto* plain = through_.target<boost::asio::io_context::executor_type>()) {
            boost::asio::post(*plain, std::move(rest));
        } else {
            boost::asio::post(through_, std::move(rest));
        }
    }

    const Handler& handler() const noexcept { return handler_; }

private:
    using home = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;
    using busy_home = std::decay_t<decltype(boost::asio::prefer(
        std::declval<home>(), boost::asio::execution::outstanding_work.tracked))>;

    Handler handler_;
    boost::asio::any_io_executor through_;
    busy_home work_;
};

}  // namespace redlock::detail

/// The cancellation slot, and every other associated object, is the handler's own.
template <template <class, class> class Associator, class Handler, class Default>
struct boost::asio::associator<Associator, redlock::detail::homing_handler<Handler>, Default>
    : Associator<Handler, Default> {
    static auto get(const redlock::detail::homing_handler<Handler>& h) noexcept {
        return Associator<Handler, Default>::get(h.handler());
    }
    static auto get(const redlock::detail::homing_handler<Handler>& h,
                    const Default& otherwise) noexcept {
        return Associator<Handler, Default>::get(h.handler(), otherwise);
    }
};

/// The allocator is the handler's own; recycled memory if it has none.
template <class Handler, class Default>
struct boost::asio::associated_allocator<redlock::detail::homing_handler<Handler>, Default>
    : boost::asio::associated_allocator<Handler, redlock::detail::recycling_memory<void>> {
    using base =
        boost::asio::associated_allocator<Handler, redlock::detail::recycling_memory<void>>;

    static auto get(const redlock::detail::homing_handler<Handler>& h) noexcept {
        return base::get(h.handler(), {});
    }
    static auto get(const redlock::detail::homing_handler<Handler>& h, const Default&) noexcept {
        return get(h);
    }
};
