// Locks of one Redis server, and of several by redsync; knows no other system.
// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1]) end return 0`

// lookAgain is how those wait for a lock that nobody wakes: 1 to 5 ms.
func lookAgain(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Millisecond + rand.N(4*time.Millisecond)):
		return nil
	}
}

func randomValue() string { return strconv.FormatUint(rand.Uint64(), 36) }

// quiet drops what go-redis would print of each connection that fails.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func connectTo(address string) *redis.Client {
	redis.SetLogger(quiet{})
	return redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true})
}

type redisWorker struct {
	client          *redis.Client
	script          *redis.Script
	resource, value string
}

func redisAlone(ctx context.Context, addresses []string) (func() (worker, error), error) {
	client := connectTo(addresses[0])
	script := redis.NewScript(compareAndDelete)
	if err := script.Load(ctx, client).Err(); err != nil {
		return nil, err
	}
	return func() (worker, error) { return &redisWorker{client: client, script: script}, nil }, nil
}

func (w *redisWorker) acquire(ctx context.Context, resource string) error {
	w.resource, w.value = resource, randomValue()
	for {
		taken, err := w.client.SetNX(ctx, resource, w.value, ttl).Result()
		if err != nil || taken {
			return err
		}
		if err := lookAgain(ctx); err != nil {
			return err
		}
	}
}

func (w *redisWorker) release(ctx context.Context) error {
	return w.script.Run(ctx, w.client, []string{w.resource}, w.value).Err()
}

type redsyncWorker struct {
	locks *redsync.Redsync
	mutex *redsync.Mutex
}

// redsyncOn leaves redsync its own delay between tries, random from 50 to 250 ms.
func redsyncOn(ctx context.Context, addresses []string) (func() (worker, error), error) {
	var pools []syncredis.Pool
	for _, address := range addresses {
		client := connectTo(address)
		if err := client.Ping(ctx).Err(); err != nil {
			return nil, err
		}
		pools = append(pools, goredis.NewPool(client))
	}
	locks := redsync.New(pools...)
	return func() (worker, error) { return &redsyncWorker{locks: locks}, nil }, nil
}

func (w *redsyncWorker) acquire(ctx context.Context, resource string) error {
	w.mutex = w.locks.NewMutex(resource, redsync.WithExpiry(ttl), redsync.WithTries(1<<30))
	return w.mutex.LockContext(ctx)
}

func (w *redsyncWorker) release(ctx context.Context) error {
	_, err := w.mutex.UnlockContext(ctx)
	return err
}
