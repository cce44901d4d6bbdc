// Locks of ZooKeeper: sequential nodes, as its recipe has them; knows no other system.
// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

type silence struct{}

func (silence) Printf(string, ...any) {}

// zookeeperWorker has a session of its own: where the client does not know whether it left a node
// in the line, only the end of the session removes that.
type zookeeperWorker struct {
	addresses  []string
	connection *zk.Conn
	lock       *zk.Lock
	isOwed     bool // the node was not deleted yet
}

func (w *zookeeperWorker) connect() error {
	connection, events, err := zk.Connect(w.addresses, ttl, zk.WithLogger(silence{}))
	if err != nil {
		return err
	}
	go func() {
		for range events { // unread, they would hold the client up
		}
	}()
	w.connection = connection
	return nil
}

func zookeeper(_ context.Context, addresses []string) (func() (worker, error), error) {
	return func() (worker, error) {
		made := &zookeeperWorker{addresses: addresses}
		return made, made.connect()
	}, nil
}

// The client has no deadline for it: it returns when the connection is back.
func (w *zookeeperWorker) acquire(ctx context.Context, resource string) error {
	if w.isOwed {
		if err := w.release(ctx); err != nil {
			return err
		}
	}
	w.lock = zk.NewLock(w.connection, "/bench/"+resource, zk.WorldACL(zk.PermAll))
	err := w.lock.Lock()
	if err != nil {
		w.connection.Close()
		if lost := w.connect(); lost != nil {
			return lost
		}
	}
	w.isOwed = err == nil
	return err
}

func (w *zookeeperWorker) release(context.Context) error {
	err := w.lock.Unlock()
	w.isOwed = err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrSessionExpired)
	return err
}
