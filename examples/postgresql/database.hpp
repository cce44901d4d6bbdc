// A connection to PostgreSQL and its answers, by libpq; knows no table.
// SPDX-License-Identifier: MIT
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace example {

/// What one statement gave.
class answer {
public:
    explicit answer(PGresult* made) : made_(made, PQclear) {}

    /// How many rows were written, or read.
    std::int64_t rows() const {
        const std::string written = PQcmdTuples(made_.get());
        return written.empty() ? 0 : std::stoll(written);
    }
    std::int64_t number(int column) const {
        if (PQntuples(made_.get()) == 0) throw std::runtime_error("no such row");
        return std::stoll(PQgetvalue(made_.get(), 0, column));
    }
    ExecStatusType status() const { return PQresultStatus(made_.get()); }
    std::string error() const { return PQresultErrorMessage(made_.get()); }

private:
    std::unique_ptr<PGresult, void (*)(PGresult*)> made_;
};

/// To the server that PGHOST and its like name.
class database {
public:
    database() : connection_(PQconnectdb(""), PQfinish) {
        if (PQstatus(connection_.get()) != CONNECTION_OK) {
            throw std::runtime_error(PQerrorMessage(connection_.get()));
        }
        PQsetNoticeProcessor(
            connection_.get(), [](void*, const char*) {}, nullptr);
    }

    /// $1, $2 and so on stand for the values. Throws on any error.
    answer run(const std::string& statement, const std::vector<std::string>& values = {}) {
        std::vector<const char*> texts;
        for (const std::string& value : values) texts.push_back(value.c_str());
        answer got(PQexecParams(connection_.get(), statement.c_str(),
                                static_cast<int>(values.size()), nullptr, texts.data(), nullptr,
                                nullptr, 0));
        if (got.status() != PGRES_TUPLES_OK && got.status() != PGRES_COMMAND_OK) {
            throw std::runtime_error(got.error());
        }
        return got;
    }

private:
    std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

}  // namespace example
