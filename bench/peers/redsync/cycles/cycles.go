// Acquires and releases with redsync as fast as it goes, ordered by lines of text; knows no client.
// SPDX-License-Identifier: MIT

// Package cycles is a peer whose rate scripts/bench sets beside redlock's. Its programs are called
// with WORKERS MILLISECONDS PORT...; then a program
//
//	says   ready                              connected, scripts loaded
//	reads  go
//	says   done CYCLES FAILURES CPU_US WALL_US
package cycles

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"

	"redlock.bench/redsync/usage"
)

const (
	expiry = 10 * time.Second // as redlock's ttl there; all else is redsync's default

	warmUp  = 100 * time.Millisecond
	warmUps = 2 // at least, of each worker, so that all connections are there
)

// Connect reaches the nodes in the way that suits so many workers.
type Connect func(ports []string, workers int) (*redsync.Redsync, error)

type counts struct{ cycles, failures atomic.Int64 }

func (c *counts) add(cycles, failures int64) {
	c.cycles.Add(cycles)
	c.failures.Add(failures)
}

func cycle(mutex *redsync.Mutex) bool {
	if mutex.Lock() != nil {
		return false
	}
	kept, err := mutex.Unlock()
	return kept && err == nil
}

// work has each worker go on with its own resource while it wants to, having begun so many cycles.
func work(mutexes []*redsync.Mutex, wants func(begun int64) bool) *counts {
	var total counts
	var all sync.WaitGroup
	for _, mutex := range mutexes {
		all.Go(func() {
			var done, failed int64
			for wants(done + failed) {
				if cycle(mutex) {
					done++
				} else {
					failed++
				}
			}
			total.add(done, failed)
		})
	}
	all.Wait()
	return &total
}

func run(connect Connect, workers int, duration time.Duration, ports []string) error {
	locks, err := connect(ports, workers)
	if err != nil {
		return err
	}
	// Each is used again and again, which spares redsync what making one takes.
	mutexes := make([]*redsync.Mutex, workers)
	for i := range mutexes {
		mutexes[i] = locks.NewMutex("bench:"+strconv.Itoa(i), redsync.WithExpiry(expiry))
	}
	warmUpBegin := time.Now()
	warm := work(mutexes, func(begun int64) bool {
		return begun < warmUps || time.Since(warmUpBegin) < warmUp
	})
	if failed := warm.failures.Load(); failed > 0 {
		return fmt.Errorf("%d cycles failed before it counted", failed)
	}
	fmt.Println("ready")
	if _, err := fmt.Scanf("go\n"); err != nil {
		return err
	}
	cpu := usage.CPUUs()
	begin := time.Now()
	var over atomic.Bool // cheaper to ask than the clock
	time.AfterFunc(duration, func() { over.Store(true) })
	got := work(mutexes, func(int64) bool { return !over.Load() })
	wall := time.Since(begin)
	cpu = usage.CPUUs() - cpu
	fmt.Println("done", got.cycles.Load(), got.failures.Load(), cpu, wall.Microseconds())
	return nil
}

// Main is all of such a program but its way to connect.
func Main(connect Connect) {
	name := filepath.Base(os.Args[0])
	var workers, ms int
	var err error
	if len(os.Args) > 3 {
		if workers, err = strconv.Atoi(os.Args[1]); err == nil {
			ms, err = strconv.Atoi(os.Args[2])
		}
	}
	if err != nil || workers < 1 || ms < 1 {
		fmt.Fprintf(os.Stderr, "usage: %s WORKERS MILLISECONDS PORT...\n", name)
		os.Exit(2)
	}
	if err := run(connect, workers, time.Duration(ms)*time.Millisecond, os.Args[3:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
