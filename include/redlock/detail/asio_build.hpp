// How a program or the library compiles Asio, as a type; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

// For the switches, which Asio itself derives from those of the compiler.
#include <boost/asio/any_completion_handler.hpp>
#include <boost/version.hpp>

#include <string_view>

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

// A macro that is not defined expands to its name.
#define REDLOCK_TEXT_OF(...) #__VA_ARGS__
#define REDLOCK_IS_DEFINED(macro) (std::string_view(REDLOCK_TEXT_OF(macro)) != #macro)

#if defined(BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
using asio_recycling = recycled_blocks<0>;
#else
using asio_recycling = recycled_blocks<BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE>;
#endif

/// Each of these changes how objects of Asio lie in memory. A program and the library that disagree
/// would link, and hang: so functions by which they share such objects take this type, and their
/// linker names the function that is missing, with all of these.
using asio_build = asio_built_with<
    boost_version<BOOST_VERSION>, rtti<!REDLOCK_IS_DEFINED(BOOST_ASIO_NO_TYPEID)>,
    exceptions<!REDLOCK_IS_DEFINED(BOOST_ASIO_NO_EXCEPTIONS)>,
    threads<REDLOCK_IS_DEFINED(BOOST_ASIO_HAS_THREADS)>,
    handler_tracking<REDLOCK_IS_DEFINED(BOOST_ASIO_ENABLE_HANDLER_TRACKING) ||
                     REDLOCK_IS_DEFINED(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)>,
    io_uring<REDLOCK_IS_DEFINED(BOOST_ASIO_HAS_IO_URING)>,
    epoll<REDLOCK_IS_DEFINED(BOOST_ASIO_HAS_EPOLL)>,
    eventfd<REDLOCK_IS_DEFINED(BOOST_ASIO_HAS_EVENTFD)>,
    timerfd<REDLOCK_IS_DEFINED(BOOST_ASIO_HAS_TIMERFD)>, asio_recycling>;

#undef REDLOCK_IS_DEFINED
#undef REDLOCK_TEXT_OF

}  // namespace redlock::detail
