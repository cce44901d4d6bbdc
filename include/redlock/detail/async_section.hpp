// The operation behind `client::async_with_lock`: acquire, the function, release; opens no socket.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/access.hpp>
#include <redlock/detail/homing_handler.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/detail/section.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/loss.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>
#include <redlock/resource_list.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

namespace redlock::detail {

/// What a function gives that is called, or a coroutine that is awaited.
template <class T>
struct eventual {
    using type = T;
    static constexpr bool is_awaited = false;
};
template <class T, class Executor>
struct eventual<asio::awaitable<T, Executor>> {
    using type = T;
    static constexpr bool is_awaited = true;
};

/// `F` as the operation stores it.
template <class F>
using section_outcome =
    eventual<std::invoke_result_t<std::decay_t<F>&, const lease&, std::stop_token>>;

template <class Failure, class R>
struct section_completion {
    using signature = void(Failure, R);
    template <class T>
    static constexpr bool is_taken_by = std::is_invocable_v<T, Failure, R>;
};
template <class Failure>
struct section_completion<Failure, void> {
    using signature = void(Failure);
    template <class T>
    static constexpr bool is_taken_by = std::is_invocable_v<T, Failure>;
};

/// A callback that takes an error code, as those of all other operations, gets one; all other
/// tokens get an exception.
template <class F, class T>
constexpr bool section_gives_code = section_completion<
    error_code, typename section_outcome<F>::type>::template is_taken_by<std::decay_t<T>>;
template <class F, class T>
using section_signature = typename section_completion<
    std::conditional_t<section_gives_code<F, T>, error_code, std::exception_ptr>,
    typename section_outcome<F>::type>::signature;

/// Where the function runs: the handler's executor, else the client's. A future's handler names the
/// threads of Asio's system executor, where a program expects no function of its own.
template <class Handler>
asio::any_io_executor section_home(const Handler& handler, const asio::any_io_executor& own) {
    const auto theirs = asio::get_associated_executor(handler, own);
    if constexpr (std::is_convertible_v<decltype(theirs), asio::any_io_executor>) {
        const asio::execution_context& runs_it = asio::query(theirs, asio::execution::context);
        const asio::execution_context& system =
            asio::query(asio::system_executor(), asio::execution::context);
        if (&runs_it != &system) return theirs;
    }
    return own;
}

/// All steps run on a strand over that executor, and so does the function.
template <class F, class Handler, bool GivesCode>
class async_section : public std::enable_shared_from_this<async_section<F, Handler, GivesCode>> {
    using outcome = section_outcome<F>;
    using value = typename outcome::type;
    static constexpr bool has_value = !std::is_void_v<value>;
    using strand = asio::strand<asio::any_io_executor>;

public:
    async_section(impl_ptr impl, F f, Handler handler)
        : impl_(std::move(impl)),
          f_(std::in_place, std::move(f)),
          strand_(section_home(handler, executor_of(impl_))),
          handler_(std::move(handler), executor_of(impl_)) {}

    void start(resource_list resources, const acquire_options& options) {
        auto slot = asio::get_associated_cancellation_slot(handler_.handler());
        if (slot.is_connected()) slot.assign(canceller{this->weak_from_this()});
        auto acquired = [self = this->shared_from_this()](error_code ec, lease got) {
            self->acquired(ec, std::move(got));
        };
        initiate<&start_acquire_all>{impl_}(cancellable(std::move(acquired)), std::move(resources),
                                            options);
    }

private:
    enum class phase : std::uint8_t { acquiring, working, ending };

    /// May be called by any thread; acts on the strand. It stays in the caller's slot, which may
    /// outlive the execution context, and so has nothing that belongs to that.
    struct canceller {
        std::weak_ptr<async_section> about;

        void operator()(asio::cancellation_type type) const {
            const auto section = about.lock();
            if (!section || type == asio::cancellation_type::none) return;
            asio::post(section->strand_, [about = about] {
                if (const auto self = about.lock()) self->cancel();
            });
        }
    };

    template <class Step>
    auto here(Step step) { return asio::bind_executor(strand_, std::move(step)); }
    template <class Step>
    auto cancellable(Step step) {
        return asio::bind_cancellation_slot(signal_.slot(), here(std::move(step)));
    }

    void cancel() {
        if (phase_ == phase::ending) return;  // the function's own end is the outcome
        is_cancelled_ = true;
        signal_.emit(asio::cancellation_type::terminal);
    }

    void acquired(error_code ec, lease got) {
        if (ec) {
            return complete(
                as_exception({ec, {got.votes().begin(), got.votes().end()}, got.why()}));
        }
        if (is_cancelled_) {
            // The grant was faster. The lease releases itself.
            return complete(as_exception({asio::error::operation_aborted, {}}));
        }
        phase_ = phase::working;
        held_ = std::move(got);
        if constexpr (outcome::is_awaited) {
            spawn();
        } else {
            call();
        }
    }

    void call() {
        std::exception_ptr failure;
        try {
            if constexpr (has_value) {
                value_.emplace(std::invoke(*f_, std::as_const(held_), held_.lost_token()));
            } else {
                std::invoke(*f_, std::as_const(held_), held_.lost_token());
            }
        } catch (...) {
            failure = std::current_exception();
        }
        ended(std::move(failure));
    }

    void spawn() {
        const auto self = this->shared_from_this();
        auto over = [self](error_code why, loss) {
            if (why != errc::not_held && self->phase_ == phase::working) {
                self->signal_.emit(asio::cancellation_type::terminal);
            }
        };
        try {
            auto work = std::invoke(*f_, std::as_const(held_), held_.lost_token());
            initiate<&start_lost>{impl_}(here(std::move(over)), access::state(held_));
            if constexpr (has_value) {
                asio::co_spawn(strand_, std::move(work),
                               cancellable([self](std::exception_ptr failure, value done) {
                                   if (!failure) self->value_.emplace(std::move(done));
                                   self->ended(std::move(failure));
                               }));
            } else {
                asio::co_spawn(strand_, std::move(work),
                               cancellable([self](std::exception_ptr failure) {
                                   self->ended(std::move(failure));
                               }));
            }
        } catch (...) {
            ended(std::current_exception());  // nothing was started
        }
    }

    void ended(std::exception_ptr failure) {
        phase_ = phase::ending;
        failure_ = std::move(failure);
        auto released = [self = this->shared_from_this(), end = section_end(held_)](error_code ec) {
            self->released(end.after_release(ec));
        };
        initiate<&start_release>{impl_}(here(std::move(released)), std::move(held_));
    }

    void released(const refusal& why) {
        // An exception of the function goes before, unless it only says that it was cancelled.
        if (failure_ && !(why.code && is_abort(failure_))) return complete(failure_);
        complete(why.code ? as_exception(why) : nullptr);
    }

    static bool is_abort(const std::exception_ptr& failure) {
        try {
            return code_of(failure) == asio::error::operation_aborted;
        } catch (...) {
            return false;
        }
    }

    static auto as_given(std::exception_ptr failure) {
        if constexpr (GivesCode) {
            return failure ? code_of(failure) : error_code();
        } else {
            return failure;
        }
    }

    void complete(std::exception_ptr failure) {
        auto done = std::move(handler_);
        f_.reset();  // what it captured is the caller's again
        if constexpr (has_value) {
            value result = !failure && value_ ? std::move(*value_) : value();
            value_.reset();
            done(as_given(std::move(failure)), std::move(result));
        } else {
            done(as_given(std::move(failure)));
        }
    }

    impl_ptr impl_;
    std::optional<F> f_;
    strand strand_;
    homing_handler<Handler> handler_;
    asio::cancellation_signal signal_;
    phase phase_ = phase::acquiring;
    bool is_cancelled_ = false;
    lease held_;
    std::exception_ptr failure_;
    std::optional<std::conditional_t<has_value, value, std::monostate>> value_;
};

template <bool GivesCode>
class initiate_section : public initiation<> {
public:
    using initiation<>::initiation;
    template <class Handler, class F>
    void operator()(Handler&& handler, resource_list resources, acquire_options options,
                    F f) const {
        std::make_shared<async_section<F, std::decay_t<Handler>, GivesCode>>(
            of_, std::move(f), std::forward<Handler>(handler))
            ->start(std::move(resources), options);
    }
};

}  // namespace redlock::detail
