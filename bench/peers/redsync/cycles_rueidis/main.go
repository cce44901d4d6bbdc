// Cycles of redsync on rueidis, which pipelines concurrent calls; knows no redlock.
// SPDX-License-Identifier: MIT

// The program is a peer of package cycles.
package main

import (
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/rueidis"

	"redlock.bench/redsync/cycles"
	"redlock.bench/redsync/rueidisnodes"
)

func main() {
	cycles.Main(func(ports []string, _ int) (*redsync.Redsync, error) {
		return rueidisnodes.Connect(ports, rueidis.ClientOption{}) // its defaults
	})
}
