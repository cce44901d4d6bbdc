// The client's operations for any completion handler: each starts on the client's strand.
// SPDX-License-Identifier: MIT
#pragma once

#include "asio/client_impl.hpp"
#include "client/call.hpp"
#include "client/context.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace redlock::detail {

/// `Base` is an operation whose `complete(Results…)` is to call a handler.
template <class Base, class... Results>
class asio_operation : public Base {
public:
    using handler = boost::asio::any_completion_handler<void(Results...)>;

    template <class... Args>
    asio_operation(const std::shared_ptr<client_impl>& client, handler h, Args&&... args)
        : Base(std::forward<Args>(args)...), client_(client), handler_(std::move(h)) {}

    /// Hands the operation to the client's strand. It may be cancelled from then on.
    static void launch(client_impl& client, boost::intrusive_ptr<asio_operation> self) {
        auto slot = boost::asio::get_associated_cancellation_slot(self->handler_);
        if (slot.is_connected()) slot.assign(canceller(self));
        self->start_.about = self;
        client.put(self->start_);
    }

    void discard() noexcept final { const handler dropped = take(); }

protected:
    /// The base calls this once, on the strand; the handler posts itself to where it belongs.
    void finish(Results... results) { take()(std::move(results)...); }

private:
    // Moved by construction: assignment of an any_completion_handler recurses in Boost 1.81.
    handler take() noexcept { return handler(std::move(handler_)); }

    struct start_letter final : mail {
        void deliver() override {
            auto self = std::move(about);
            if (const auto client = self->client_.lock()) client->begin(std::move(self));
        }
        void discard() noexcept override {
            const auto self = std::move(about);
            static_cast<asio_operation&>(*self).discard();
        }
        boost::intrusive_ptr<asio_operation> about;
    };
    struct cancel_letter final : mail {
        void deliver() override {
            const auto self = std::move(about);
            self->cancel(boost::asio::error::operation_aborted, clock::now());
        }
        void discard() noexcept override { about.reset(); }
        boost::intrusive_ptr<asio_operation> about;
    };

    /// `emit` may come from any thread that the caller has ordered before the completion.
    class canceller {
    public:
        explicit canceller(boost::intrusive_ptr<asio_operation> what) : what_(std::move(what)) {}
        void operator()(boost::asio::cancellation_type type) const {
            if (type == boost::asio::cancellation_type::none || what_->is_cancelled_.test_and_set())
                return;
            const auto client = what_->client_.lock();
            if (!client) return;
            what_->cancel_.about = what_;
            client->put(what_->cancel_);
        }

    private:
        boost::intrusive_ptr<asio_operation> what_;
    };

    std::weak_ptr<client_impl> client_;
    handler handler_;
    start_letter start_;
    cancel_letter cancel_;
    std::atomic_flag is_cancelled_;
};

/// The client was moved from or is the parent process's, or its execution context was destroyed.
inline bool is_out_of_reach(const std::shared_ptr<client_impl>& impl) noexcept {
    return !impl || impl->is_inherited() || impl->has_lost_context();
}

template <class Operation, class Handler, class... Args>
void launch(const std::shared_ptr<client_impl>& impl, Handler handler, Args&&... args) {
    boost::intrusive_ptr<Operation> made(
        new Operation(impl, std::move(handler), std::forward<Args>(args)...));
    Operation::launch(*impl, std::move(made));
}

}  // namespace redlock::detail
