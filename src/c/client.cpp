// The clients of the C interface: made of a configuration, closed, freed.
// SPDX-License-Identifier: MIT
#include "c/failure.hpp"
#include "c/objects.hpp"

#include <redlock/version.hpp>

#include <memory>
#include <utility>

namespace redlock::c {

namespace {

int make(result<configuration, config_error> read, redlock_client** out) {
    if (!read) return fail(read.error());
    auto made = std::make_unique<redlock_client>();
    made->shared = std::make_shared<shared_client>(std::move(*read));
    *out = made.release();
    return REDLOCK_OK;
}

// `read()` reads the configuration.
template <class F>
int make_of(redlock_client** out, const char* text, const char* name, F&& read) noexcept {
    return guarded([&] {
        if (out == nullptr) return refuse("out is null");
        *out = nullptr;
        if (text == nullptr) return refuse(std::string(name) + " is null");
        return make(read(), out);
    });
}

}  // namespace

}  // namespace redlock::c

using namespace redlock;

int redlock_client_from_json(const char* json, redlock_client** out) {
    return c::make_of(out, json, "json", [&] { return parse_configuration(json); });
}

int redlock_client_from_file(const char* path, redlock_client** out) {
    return c::make_of(out, path, "path", [&] { return load_configuration(path); });
}

int redlock_client_from_environment(redlock_client** out) {
    return c::make_of(out, "", "", [] { return configuration_from_environment(); });
}

int redlock_client_close(redlock_client* client) {
    return c::guarded([&] {
        if (client == nullptr) return c::refuse("client is null");
        const auto closed = client->shared->blocking.close();
        return closed ? REDLOCK_OK : c::fail(refusal{closed.error(), {}});
    });
}

// Where there is no memory to close it, the last that uses the client closes it by freeing it.
void redlock_client_free(redlock_client* client) {
    const std::unique_ptr<redlock_client> owned(client);
    if (owned) redlock_client_close(owned.get());
}

const char* redlock_version(void) { return REDLOCK_VERSION; }
