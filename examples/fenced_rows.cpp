// A table whose rows refuse an older fence: a holder whose lease has ended can't overwrite it.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;

/// One row per account, with the fence of its last writer.
class ledger {
public:
    ledger() {
        sqlite3* opened = nullptr;
        const int status = sqlite3_open(":memory:", &opened);
        database_.reset(opened);
        if (status != SQLITE_OK) throw std::runtime_error("SQLite can't open a database");
        run("CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER NOT NULL,"
            " fence INTEGER NOT NULL)");
        run("INSERT INTO account VALUES ('ada', 100, 0)");
    }

    /// Writes only if no holder of a later lease has written: one statement, so no other write can
    /// come in between. False if the row refused.
    bool set_balance(std::int64_t balance, std::uint64_t fence) {
        run("UPDATE account SET balance = " + std::to_string(balance) +
            ", fence = " + std::to_string(fence) + " WHERE name = 'ada' AND fence <= " +
            std::to_string(fence));
        return sqlite3_changes(database_.get()) == 1;
    }

    std::int64_t balance() {
        sqlite3_stmt* made = nullptr;
        sqlite3_prepare_v2(database_.get(), "SELECT balance FROM account", -1, &made, nullptr);
        const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> query(made, sqlite3_finalize);
        if (!query || sqlite3_step(query.get()) != SQLITE_ROW) throw std::runtime_error("no row");
        return sqlite3_column_int64(query.get(), 0);
    }

private:
    void run(const std::string& statement) {
        if (sqlite3_exec(database_.get(), statement.c_str(), nullptr, nullptr, nullptr) !=
            SQLITE_OK) {
            throw std::runtime_error(sqlite3_errmsg(database_.get()));
        }
    }

    std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_{nullptr, sqlite3_close};
};

redlock::lease lock(redlock::blocking_client& client, bool renew) {
    auto got = client.acquire("example:ada", {.ttl = 500ms, .wait = 10s, .renew = renew});
    if (!got) throw std::runtime_error(got.error().message());
    return std::move(*got);
}

int show(const redlock::client_options& options) {
    ledger accounts;
    redlock::blocking_client client(options);

    // The first holder reads, and then is away for longer than its lease: a long pause of its
    // machine, say. It does not look at the lease when it comes back: the fence has to do.
    redlock::lease overslept = lock(client, false);
    const std::int64_t read_before = accounts.balance();

    redlock::lease second = lock(client, true);
    const bool second_wrote = accounts.set_balance(accounts.balance() + 50, second.fence());
    const bool overslept_wrote = accounts.set_balance(read_before - 30, overslept.fence());

    std::cout << "fences " << overslept.fence() << " and " << second.fence() << ", balance "
              << accounts.balance() << '\n';
    return example::check(second_wrote && !overslept_wrote && accounts.balance() == 150 &&
                              overslept.fence() < second.fence(),
                          "the row refused the older fence, and nothing was lost");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return show(example::options(argc, argv));
    } catch (const std::exception& e) {
        return example::failed(e);
    }
}
