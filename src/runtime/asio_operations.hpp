// Operations that complete an Asio handler; take no decision.
// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/client_impl.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/operation.hpp"

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

namespace redlock::detail {

/// A handler on its way: keeps its executor's context busy until it is posted.
template <class... Results>
class completion {
public:
    using handler = boost::asio::any_completion_handler<void(Results...)>;

    completion(handler h, const boost::asio::any_io_executor& fallback)
        : handler_(std::move(h)),
          work_(boost::asio::prefer(
              boost::asio::get_associated_executor(handler_, fallback),
              boost::asio::execution::outstanding_work.tracked)) {}

    const handler& peek() const noexcept { return handler_; }

    void post(const boost::asio::any_io_executor& through, Results... results) {
        // Moved by construction: assignment of an any_completion_handler recurses in Boost 1.81.
        handler h(std::move(handler_));
        boost::asio::post(through,
                          boost::asio::append(std::move(h), std::move(results)...));
        work_.reset();
    }

    void discard() noexcept {
        const handler dropped(std::move(handler_));
        work_.reset();
    }

private:
    handler handler_;
    std::optional<boost::asio::any_completion_executor> work_;
};

/// `Base` is an operation whose `complete(Results…)` is to call a handler.
template <class Base, class... Results>
class asio_operation : public Base {
public:
    using handler = typename completion<Results...>::handler;

    template <class... Args>
    asio_operation(std::shared_ptr<client_impl> client, handler h, Args&&... args)
        : Base(std::forward<Args>(args)...),
          client_(client),
          completion_(std::move(h), client->executor()) {}

    /// Hands the operation to the client's strand. It may be cancelled from then on.
    static void launch(boost::intrusive_ptr<asio_operation> self) {
        const auto client = self->client_.lock();
        auto slot = boost::asio::get_associated_cancellation_slot(self->completion_.peek());
        if (slot.is_connected()) slot.assign(canceller(self));
        self->start_.about = self;
        client->put(self->start_);
    }

    void discard() noexcept final { completion_.discard(); }

protected:
    /// Posts the handler; the base calls this once, on the strand.
    void finish(Results... results) {
        if (const auto client = client_.lock()) {
            completion_.post(client->executor(), std::move(results)...);
        }
    }

private:
    struct start_letter final : mail {
        void deliver() override {
            auto self = std::move(about);
            if (const auto client = self->client_.lock()) client->begin(std::move(self));
        }
        void discard() noexcept override {
            const auto self = std::move(about);
            self->completion_.discard();
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
    completion<Results...> completion_;
    start_letter start_;
    cancel_letter cancel_;
    std::atomic_flag is_cancelled_;
};

}  // namespace redlock::detail
