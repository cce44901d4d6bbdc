// Connects redsync to nodes on loopback; knows no lock.
// SPDX-License-Identifier: MIT

// Package nodes is what the programs on redsync share.
package nodes

import (
	"context"

	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// A Way turns go-redis's options for a node into what redsync talks to it through.
type Way func(*redis.Options) (redis.UniversalClient, error)

// Usual leaves go-redis its own number of connections, ten for each processor.
func Usual(options *redis.Options) (redis.UniversalClient, error) {
	return redis.NewClient(options), nil
}

// Connect returns when every node answers, so that the connections are there before it counts.
func Connect(ports []string, by Way) (*redsync.Redsync, error) {
	redis.SetLogger(silence{}) // the caller says what becomes of a lock
	var pools []syncredis.Pool
	for _, port := range ports {
		client, err := by(&redis.Options{
			Addr:                  "127.0.0.1:" + port,
			ContextTimeoutEnabled: true, // else redsync's own limit on a node has no effect
		})
		if err != nil {
			return nil, err
		}
		if err := client.Ping(context.Background()).Err(); err != nil {
			return nil, err
		}
		pools = append(pools, goredis.NewPool(client))
	}
	return redsync.New(pools...), nil
}
