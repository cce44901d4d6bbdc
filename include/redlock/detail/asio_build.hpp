// How a program or the library compiles Asio, as a type; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

// For the switches, which Asio itself derives from those of the compiler.
#include <boost/asio/any_completion_handler.hpp>
#include <boost/version.hpp>

namespace redlock::detail {

template <int> struct boost_version {};
template <bool> struct rtti {};
template <bool> struct exceptions {};
template <bool> struct threads {};
template <bool> struct handler_tracking {};
template <bool> struct io_uring {};
template <bool> struct epoll {};
template <bool> struct eventfd {};
template <bool> struct timerfd {};
template <int> struct recycled_blocks {};
template <class...> struct asio_built_with {};

#if defined(BOOST_ASIO_NO_TYPEID)
using asio_rtti = rtti<false>;
#else
using asio_rtti = rtti<true>;
#endif
#if defined(BOOST_ASIO_NO_EXCEPTIONS)
using asio_exceptions = exceptions<false>;
#else
using asio_exceptions = exceptions<true>;
#endif
#if defined(BOOST_ASIO_HAS_THREADS)
using asio_threads = threads<true>;
#else
using asio_threads = threads<false>;
#endif
#if defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING) || defined(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)
using asio_tracking = handler_tracking<true>;
#else
using asio_tracking = handler_tracking<false>;
#endif
#if defined(BOOST_ASIO_HAS_IO_URING)
using asio_io_uring = io_uring<true>;
#else
using asio_io_uring = io_uring<false>;
#endif
#if defined(BOOST_ASIO_HAS_EPOLL)
using asio_epoll = epoll<true>;
#else
using asio_epoll = epoll<false>;
#endif
#if defined(BOOST_ASIO_HAS_EVENTFD)
using asio_eventfd = eventfd<true>;
#else
using asio_eventfd = eventfd<false>;
#endif
#if defined(BOOST_ASIO_HAS_TIMERFD)
using asio_timerfd = timerfd<true>;
#else
using asio_timerfd = timerfd<false>;
#endif
#if defined(BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
using asio_recycling = recycled_blocks<0>;
#else
using asio_recycling = recycled_blocks<BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE>;
#endif

/// Each of these changes how objects of Asio lie in memory. A program and the library that disagree
/// would link, and hang: so functions by which they share such objects take this type, and their
/// linker names the function that is missing, with all of these.
using asio_build =
    asio_built_with<boost_version<BOOST_VERSION>, asio_rtti, asio_exceptions, asio_threads,
                    asio_tracking, asio_io_uring, asio_epoll, asio_eventfd, asio_timerfd,
                    asio_recycling>;

}  // namespace redlock::detail
