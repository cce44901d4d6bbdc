// The C interface where memory runs out: each allocation of the calling thread fails once, in turn,
// and the call is an error that leaves nothing behind.
// SPDX-License-Identifier: MIT
#include <redlock/c.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

namespace {

// Of this thread only: the client's own thread goes on, as the memory of one call is what is tried.
thread_local std::int64_t allowed = -1;  // allocations until one fails; negative: none does
thread_local bool has_failed = false;
// A strand of Boost 1.81 destroys what it has not constructed yet where the count of references to
// it, of 24 bytes, or its mutex, of 40, finds no memory:
// strand_executor_service::create_implementation.
thread_local bool are_strands_spared = false;

bool may_fail(std::size_t bytes) { return !are_strands_spared || (bytes != 24 && bytes != 40); }

void* allocate(std::size_t bytes) {
    if (allowed == 0 && may_fail(bytes)) {
        has_failed = true;
        allowed = -1;  // what follows, such as a text about it, has memory again
        throw std::bad_alloc();
    }
    if (allowed > 0) --allowed;
    if (void* const out = std::malloc(bytes == 0 ? 1 : bytes)) return out;
    throw std::bad_alloc();
}

int failures = 0;

void expect(bool is_so, const std::string& what, std::int64_t n) {
    if (is_so) return;
    ++failures;
    std::fprintf(stderr, "allocation %lld: %s; last error: %s\n", static_cast<long long>(n),
                 what.c_str(), redlock_last_error());
}

// Calls with the n-th allocation failing, for n = 0, 1, ..., until none fails any more. The call
// returns `when_whole` then, and before that either the same (where what failed was not needed) or
// REDLOCK_NO_MEMORY.
void fail_each(const char* name, int when_whole, const std::function<int()>& call,
               const std::function<void(int, std::int64_t)>& after = [](int, std::int64_t) {}) {
    std::int64_t n = 0;
    for (;; ++n) {
        has_failed = false;
        allowed = n;
        const int got = call();
        allowed = -1;
        const bool is_error = has_failed && got == REDLOCK_NO_MEMORY;
        expect(is_error || got == when_whole, std::string(name) + " is " + std::to_string(got), n);
        if (is_error) {
            expect(std::string(redlock_last_error()) == "out of memory", "no word of memory", n);
        }
        after(got, n);
        if (!has_failed) break;
        if (n == 10'000) {
            expect(false, std::string(name) + " never has enough", n);
            break;
        }
    }
    std::printf("%s: %lld allocations\n", name, static_cast<long long>(n));
}

redlock_client* client = nullptr;
redlock_client* other = nullptr;

bool is_held(const char* resource) {
    char* json = nullptr;
    redlock_inspect(other, resource, &json);
    const std::string said = json == nullptr ? "" : json;
    const bool out = said.find("\"held\":true") != std::string::npos;
    redlock_text_free(json);
    return out;
}

// Nothing stays behind: a release that was posted arrives.
void await_free(const char* resource) {
    while (is_held(resource)) continue;
}

void try_clients() {
    redlock_client* made = nullptr;
    are_strands_spared = true;
    fail_each("redlock_client_from_environment", REDLOCK_OK,
              [&] { return redlock_client_from_environment(&made); },
              [&](int got, std::int64_t n) {
                  expect((made != nullptr) == (got == REDLOCK_OK), "a client beside an error", n);
                  redlock_client_free(made);
                  made = nullptr;
              });
    are_strands_spared = false;
}

void try_acquires() {
    redlock_lease* lease = nullptr;
    const auto free_it = [&](int got, std::int64_t n) {
        expect((lease != nullptr) == (got == REDLOCK_OK), "a lease beside an error", n);
        redlock_lease_free(lease);
        lease = nullptr;
        await_free("memory");
    };
    fail_each("redlock_acquire", REDLOCK_OK,
              [&] { return redlock_acquire(client, "memory", nullptr, &lease); }, free_it);
    const char* const names[] = {"memory", "of a longer name, which is no small string"};
    fail_each("redlock_acquire_all", REDLOCK_OK,
              [&] { return redlock_acquire_all(client, names, 2, nullptr, &lease); }, free_it);
    redlock_pending* pending = nullptr;
    fail_each("redlock_begin_acquire, taken", REDLOCK_OK,
              [&] {
                  const int got = redlock_begin_acquire(client, "memory", nullptr, &pending);
                  return got == REDLOCK_OK ? redlock_pending_take(pending, &lease) : got;
              },
              free_it);
    redlock_queue* queue = nullptr;
    fail_each("redlock_queue_new", REDLOCK_OK,
              [&] {
                  queue = redlock_queue_new();
                  return queue == nullptr ? REDLOCK_NO_MEMORY : REDLOCK_OK;
              },
              [&](int, std::int64_t) { redlock_queue_free(queue); });
    queue = redlock_queue_new();
    redlock_begin_acquire(client, "memory", nullptr, &pending);
    fail_each("redlock_queue_add", REDLOCK_OK, [&] { return redlock_queue_add(queue, pending); });
    redlock_pending_cancel(pending);
    redlock_queue_free(queue);
    await_free("memory");
    redlock_cancel* cancel = nullptr;
    fail_each("redlock_cancel_new", REDLOCK_OK,
              [&] {
                  cancel = redlock_cancel_new();
                  return cancel == nullptr ? REDLOCK_NO_MEMORY : REDLOCK_OK;
              },
              [&](int, std::int64_t) { redlock_cancel_free(cancel); });
}

void try_contention() {
    redlock_lease* holder = nullptr;
    redlock_lease* lease = nullptr;
    redlock_acquire(other, "contended", nullptr, &holder);
    fail_each("redlock_acquire, contended", REDLOCK_CONTENDED,
              [&] { return redlock_acquire(client, "contended", nullptr, &lease); });
    expect(lease == nullptr, "two hold", 0);
    redlock_acquire(client, "contended", nullptr, &lease);
    const auto size_of = [](const char* text) { return std::string(text).size(); };
    const std::size_t whole = size_of(redlock_last_error_json());
    for (std::int64_t n = 0;; ++n) {
        has_failed = false;
        allowed = n;
        const char* const text = redlock_last_error_json();
        allowed = -1;
        if (!has_failed) {
            expect(size_of(text) == whole, "the text is cut", n);
            break;
        }
        expect(std::string(text) == R"({"message":"out of memory"})", text, n);
    }
    redlock_release(holder);
}

void try_leases() {
    for (const bool is_release : {false, true}) {
        redlock_lease* lease = nullptr;
        fail_each(is_release ? "redlock_release" : "redlock_extend", REDLOCK_OK,
                  [&] {
                      const std::int64_t then = allowed;
                      allowed = -1;
                      if (lease == nullptr) redlock_acquire(client, "memory", nullptr, &lease);
                      allowed = then;
                      if (!is_release) return redlock_extend(lease, 5'000);
                      redlock_lease* const gone = lease;
                      lease = nullptr;
                      return redlock_release(gone);
                  },
                  [&](int, std::int64_t n) {
                      if (is_release) return await_free("memory");
                      expect(redlock_lease_valid(lease) == 1, "the lease is over", n);
                  });
        redlock_lease_free(lease);
        await_free("memory");
    }
    redlock_lease* lease = nullptr;
    redlock_acquire(client, "memory", nullptr, &lease);
    fail_each("redlock_lease_token", REDLOCK_OK, [&] {
        return redlock_lease_token(lease) == nullptr ? REDLOCK_NO_MEMORY : REDLOCK_OK;
    });
    const std::string token = redlock_lease_token(lease);
    fail_each("redlock_lease_lost_fd", REDLOCK_OK, [&] {
        return redlock_lease_lost_fd(lease) < 0 ? REDLOCK_NO_MEMORY : REDLOCK_OK;
    });
    redlock_lease* adopted = nullptr;
    fail_each("redlock_adopt", REDLOCK_OK,
              [&] { return redlock_adopt(other, token.c_str(), nullptr, &adopted); },
              [&](int, std::int64_t) {
                  redlock_lease_detach(adopted);
                  adopted = nullptr;
              });
    redlock_release(lease);
}

void try_reports() {
    char* text = nullptr;
    const auto free_it = [&](int got, std::int64_t n) {
        expect((text != nullptr) == (got == REDLOCK_OK), "a text beside an error", n);
        redlock_text_free(text);
        text = nullptr;
    };
    fail_each("redlock_inspect", REDLOCK_OK, [&] { return redlock_inspect(client, "r", &text); },
              free_it);
    fail_each("redlock_list", REDLOCK_OK, [&] { return redlock_list(client, "r", &text); },
              free_it);
    fail_each("redlock_probe", REDLOCK_OK, [&] { return redlock_probe(client, &text); }, free_it);
    fail_each("redlock_stats", REDLOCK_OK, [&] { return redlock_stats(client, &text); }, free_it);
    fail_each("redlock_open_metrics", REDLOCK_OK,
              [&] { return redlock_open_metrics(client, &text); }, free_it);
    fail_each("redlock_prometheus_text", REDLOCK_OK,
              [&] { return redlock_prometheus_text(client, &text); }, free_it);
    redlock_limiter* limiter = nullptr;
    fail_each("redlock_limiter_new", REDLOCK_OK,
              [&] { return redlock_limiter_new(client, "limit", 1'000, 1'000, &limiter); },
              [&](int got, std::int64_t) {
                  if (got != REDLOCK_OK) return;
                  fail_each("redlock_limiter_acquire", REDLOCK_OK, [&] {
                      return redlock_limiter_acquire(limiter, 0, nullptr, nullptr);
                  });
                  redlock_limiter_free(limiter);
              });
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (redlock_client_from_environment(&client) != 0 ||
        redlock_client_from_environment(&other) != 0) {
        std::fprintf(stderr, "no client: %s\n", redlock_last_error());
        return 1;
    }
    try_clients();
    try_acquires();
    try_contention();
    try_leases();
    try_reports();
    redlock_client_free(client);
    redlock_client_free(other);
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
