// Cycles of redsync on rueidis with the settings that served it best here; knows no redlock.
// SPDX-License-Identifier: MIT

// The program is a peer of package cycles.
package main

import (
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/rueidis"

	"redlock.bench/redsync/cycles"
	"redlock.bench/redsync/rueidisnodes"
)

func main() {
	cycles.Main(func(ports []string, _ int) (*redsync.Redsync, error) {
		return rueidisnodes.Connect(ports, rueidis.ClientOption{
			PipelineMultiplex: -1, // one connection for each node
			// Larger writes. At 128 workers 100 and 500 us did about as well, 0, 20 and 1,000 worse.
			MaxFlushDelay: 200 * time.Microsecond,
		})
	})
}
