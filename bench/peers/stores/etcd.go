// Locks of etcd, by its own recipe; knows no other system.
// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// etcdSession is shared by the workers of a process, and replaced once it has expired.
type etcdSession struct {
	client *clientv3.Client
	lease  chan *concurrency.Session // holds the one that counts
}

func newSession(ctx context.Context, client *clientv3.Client) (*concurrency.Session, error) {
	granted, err := client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return nil, err
	}
	return concurrency.NewSession(client, concurrency.WithLease(granted.ID))
}

func (s *etcdSession) current(ctx context.Context) (*concurrency.Session, error) {
	session := <-s.lease
	defer func() { s.lease <- session }()
	select {
	case <-session.Done():
		made, err := newSession(ctx, s.client)
		if err != nil {
			return nil, err
		}
		session = made
	default:
	}
	return session, nil
}

type etcdWorker struct {
	shared *etcdSession
	mutex  *concurrency.Mutex
}

func etcd(ctx context.Context, addresses []string) (func() (worker, error), error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: addresses, DialTimeout: 5 * time.Second, Logger: zap.NewNop(),
		DialKeepAliveTime: time.Second, DialKeepAliveTimeout: time.Second,
	})
	if err != nil {
		return nil, err
	}
	session, err := newSession(ctx, client)
	if err != nil {
		return nil, err
	}
	shared := &etcdSession{client, make(chan *concurrency.Session, 1)}
	shared.lease <- session
	return func() (worker, error) { return &etcdWorker{shared: shared}, nil }, nil
}

func (w *etcdWorker) acquire(ctx context.Context, resource string) error {
	session, err := w.shared.current(ctx)
	if err != nil {
		return err
	}
	w.mutex = concurrency.NewMutex(session, "/bench/"+resource)
	return w.mutex.Lock(ctx)
}

func (w *etcdWorker) release(ctx context.Context) error { return w.mutex.Unlock(ctx) }
