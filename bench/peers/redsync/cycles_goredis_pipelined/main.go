// Cycles of redsync on go-redis's experimental pipelining of concurrent calls; knows no redlock.
// SPDX-License-Identifier: MIT

// The program is a peer of package cycles.
package main

import (
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"

	"redlock.bench/redsync/cycles"
	"redlock.bench/redsync/nodes"
)

func main() {
	cycles.Main(func(ports []string, _ int) (*redsync.Redsync, error) {
		return nodes.Connect(ports, func(options *redis.Options) (redis.UniversalClient, error) {
			return redis.NewClient(options).AutoPipeline() // with its defaults
		})
	})
}
