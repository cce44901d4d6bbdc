// Locks of PostgreSQL and MariaDB, each of a session; knows no other system.
// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"database/sql"
	"errors"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

type postgresqlWorker struct {
	connection *pgx.Conn
	resource   string
}

func postgresql(ctx context.Context, addresses []string) (func() (worker, error), error) {
	return func() (worker, error) {
		connection, err := pgx.Connect(ctx, addresses[0])
		return &postgresqlWorker{connection: connection}, err
	}, nil
}

func (w *postgresqlWorker) acquire(ctx context.Context, resource string) error {
	w.resource = resource
	_, err := w.connection.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", resource)
	return err
}

func (w *postgresqlWorker) release(ctx context.Context) error {
	_, err := w.connection.Exec(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))",
		w.resource)
	return err
}

type mariadbWorker struct {
	connection *sql.Conn
	resource   string
}

func mariadb(ctx context.Context, addresses []string) (func() (worker, error), error) {
	database, err := sql.Open("mysql", addresses[0])
	if err != nil {
		return nil, err
	}
	return func() (worker, error) {
		connection, err := database.Conn(ctx)
		return &mariadbWorker{connection: connection}, err
	}, nil
}

func (w *mariadbWorker) one(ctx context.Context, statement string) error {
	var got sql.NullInt64
	if err := w.connection.QueryRowContext(ctx, statement, w.resource).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errors.New("not granted")
	}
	return nil
}

func (w *mariadbWorker) acquire(ctx context.Context, resource string) error {
	w.resource = resource
	return w.one(ctx, "SELECT GET_LOCK(?, 60)")
}

func (w *mariadbWorker) release(ctx context.Context) error {
	return w.one(ctx, "SELECT RELEASE_LOCK(?)")
}
