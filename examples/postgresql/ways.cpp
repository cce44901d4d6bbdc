// The ways to sell one piece of a stock without overselling it, each as short as it can be.
// SPDX-License-Identifier: MIT
#include "ways.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

namespace example {

namespace {

using std::to_string;

// The order stands with the piece that it took, or neither does: one statement, which writes the
// stock only under the way's own condition.
std::string sell_if(const std::string& condition, const std::string& also_set = "") {
    return "WITH taken AS (UPDATE stock SET pieces = $1::int" + also_set +
           " WHERE item = $2 AND " + condition +
           " RETURNING item) INSERT INTO orders (item, buyer) SELECT item, $3 FROM taken";
}

std::int64_t read_pieces(buyer& who, const std::string& more = "") {
    const auto pieces =
        who.stock.run("SELECT pieces FROM stock WHERE item = $1" + more, {who.item}).number(0);
    who.having_read();
    return pieces;
}

std::string lease_of(const buyer& who) { return to_string(who.lease.count()) + " ms"; }

// One that was not let in looks again soon; nobody wakes it.
outcome look_again() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return outcome::again;
}

// The lease excludes; the fence refuses a holder that goes on after its lease. It is raised as the
// stock is read: otherwise an older holder could still write between this one's reading and its
// writing. `<=`: a holder may write twice under one lease.
outcome by_fence(buyer& who) {
    const auto lease = who.locks->acquire("stock:" + who.item,
                                          {.ttl = who.lease, .wait = std::chrono::seconds(30)});
    if (!lease) throw std::runtime_error(lease.error().message());
    who.fence = lease->fence();
    const std::string fence = to_string(who.fence);
    const auto found = who.stock.run(
        "UPDATE stock SET fence = $2::bigint WHERE item = $1 AND fence <= $2::bigint"
        " RETURNING pieces",
        {who.item, fence});
    if (found.rows() == 0) return outcome::again;
    who.having_read();
    if (found.number(0) == 0) return outcome::sold_out;
    const auto written =
        who.stock.run(sell_if("fence <= $4::bigint", ", fence = $4::bigint"),
                      {to_string(found.number(0) - 1), who.item, who.name, fence});
    return written.rows() == 1 ? outcome::sold : outcome::again;
}

outcome by_version(buyer& who) {
    const auto found =
        who.stock.run("SELECT pieces, version FROM stock WHERE item = $1", {who.item});
    who.having_read();
    if (found.number(0) == 0) return outcome::sold_out;
    const auto written = who.stock.run(
        sell_if("version = $4::bigint", ", version = version + 1"),
        {to_string(found.number(0) - 1), who.item, who.name, to_string(found.number(1))});
    return written.rows() == 1 ? outcome::sold : outcome::again;
}

outcome by_row_lock(buyer& who) {
    who.stock.run("BEGIN");
    const auto pieces = read_pieces(who, " FOR UPDATE");
    if (pieces > 0) who.stock.run(sell_if("true"), {to_string(pieces - 1), who.item, who.name});
    who.stock.run("COMMIT");
    return pieces > 0 ? outcome::sold : outcome::sold_out;
}

// The row has an expiry, or a buyer that dies would leave it for good. The write shares the lock's
// row, so that nobody takes it over meanwhile.
outcome by_unique_insert(buyer& who) {
    const auto taken = who.stock.run(
        "INSERT INTO locks VALUES ($1, $2, now() + $3::interval) ON CONFLICT (name) DO UPDATE SET"
        " holder = $2, until = now() + $3::interval WHERE locks.until < now()",
        {who.item, who.name, lease_of(who)});
    if (taken.rows() == 0) return look_again();
    const auto pieces = read_pieces(who);
    const auto written = who.stock.run(
        sell_if("pieces > 0 AND EXISTS (SELECT FROM locks WHERE name = $2 AND holder = $3"
                " AND until > now() FOR SHARE)"),
        {to_string(pieces - 1), who.item, who.name});
    who.stock.run("DELETE FROM locks WHERE name = $1 AND holder = $2", {who.item, who.name});
    if (written.rows() == 1) return outcome::sold;
    return pieces == 0 ? outcome::sold_out : outcome::again;
}

outcome by_advisory_lock(buyer& who) {
    who.stock.run("SELECT pg_advisory_lock(hashtextextended($1, 0))", {who.item});
    const auto pieces = read_pieces(who);
    if (pieces > 0) who.stock.run(sell_if("true"), {to_string(pieces - 1), who.item, who.name});
    who.stock.run("SELECT pg_advisory_unlock(hashtextextended($1, 0))", {who.item});
    return pieces > 0 ? outcome::sold : outcome::sold_out;
}

outcome by_status(buyer& who) {
    const auto taken = who.stock.run(
        "UPDATE stock SET holder = $2, until = now() + $3::interval WHERE item = $1"
        " AND (holder = '' OR until < now())",
        {who.item, who.name, lease_of(who)});
    if (taken.rows() == 0) return look_again();
    const auto pieces = read_pieces(who);
    const auto written = who.stock.run(sell_if("pieces > 0 AND holder = $3", ", holder = ''"),
                                       {to_string(pieces - 1), who.item, who.name});
    if (written.rows() == 1) return outcome::sold;
    who.stock.run("UPDATE stock SET holder = '' WHERE item = $1 AND holder = $2",
                  {who.item, who.name});
    return pieces == 0 ? outcome::sold_out : outcome::again;
}

}  // namespace

const std::vector<way>& all_ways() {
    static const std::vector<way> all{
        {"redlock and fence", by_fence},
        {"version column", by_version},
        {"select for update", by_row_lock},
        {"unique insert", by_unique_insert},
        {"pg_advisory_lock", by_advisory_lock},
        {"status column", by_status},
    };
    return all;
}

void create_tables(database& in) {
    in.run("CREATE TABLE stock (item text PRIMARY KEY, pieces int NOT NULL,"
           " fence bigint NOT NULL DEFAULT 0, version bigint NOT NULL DEFAULT 0,"
           " holder text NOT NULL DEFAULT '', until timestamptz NOT NULL DEFAULT now())");
    in.run("CREATE TABLE locks (name text PRIMARY KEY, holder text NOT NULL,"
           " until timestamptz NOT NULL)");
    in.run("CREATE TABLE orders (item text NOT NULL, buyer text NOT NULL)");
}

}  // namespace example
