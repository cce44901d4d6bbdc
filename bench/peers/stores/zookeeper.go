// Locks of ZooKeeper: sequential nodes, as its recipe has them; knows no other system.
// SPDX-License-Identifier: MIT

package main

import (
	"context"

	"github.com/go-zookeeper/zk"
)

type silence struct{}

func (silence) Printf(string, ...any) {}

type zookeeperWorker struct {
	connection *zk.Conn
	lock       *zk.Lock
}

func zookeeper(_ context.Context, addresses []string) (func() (worker, error), error) {
	connection, events, err := zk.Connect(addresses, ttl, zk.WithLogger(silence{}))
	if err != nil {
		return nil, err
	}
	go func() {
		for range events { // unread, they would hold the client up
		}
	}()
	return func() (worker, error) { return &zookeeperWorker{connection: connection}, nil }, nil
}

// The client has no deadline for it: it returns when the connection is back.
func (w *zookeeperWorker) acquire(_ context.Context, resource string) error {
	w.lock = zk.NewLock(w.connection, "/bench/"+resource, zk.WorldACL(zk.PermAll))
	return w.lock.Lock()
}

func (w *zookeeperWorker) release(context.Context) error { return w.lock.Unlock() }
