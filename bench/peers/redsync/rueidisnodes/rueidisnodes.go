// Connects redsync to nodes on loopback through rueidis; knows no lock.
// SPDX-License-Identifier: MIT

// Package rueidisnodes is apart from nodes, so that a program without rueidis downloads none.
package rueidisnodes

import (
	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	syncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

// Connect returns when every node answers. The options are those of each node but for its address.
func Connect(ports []string, options rueidis.ClientOption) (*redsync.Redsync, error) {
	var pools []syncredis.Pool
	for _, port := range ports {
		options.InitAddress = []string{"127.0.0.1:" + port}
		client, err := rueidis.NewClient(options)
		if err != nil {
			return nil, err
		}
		pools = append(pools, syncrueidis.NewPool(rueidiscompat.NewAdapter(client)))
	}
	return redsync.New(pools...), nil
}
