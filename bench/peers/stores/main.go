// Takes and gives back locks of one system, as lines order it; knows no redlock.
// SPDX-License-Identifier: MIT

// The program is what bench/peers/beside measures redlock beside. It says "ready" and then reads
//
//	cycles WORKERS MS            each worker acquires and releases a resource of its own
//	contend BEGIN END HOLD_US    one worker, one resource of all processes, from then until then
//	stream MS                    one worker, each acquire with its instants
//	take                         acquires one resource of all processes, and keeps it
//
// and answers each with one JSON object on one line. Instants are ns of CLOCK_MONOTONIC.
// The workers of cycles are kept, with their connections, for the next such line: the first warms up.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ttl is of every lease and every session.
const ttl = 2 * time.Second

// A worker takes one lock at a time.
type worker interface {
	// acquire returns once it has the lock, however long that takes, or with an error.
	acquire(ctx context.Context, resource string) error
	release(ctx context.Context) error
}

// A system makes workers that use the servers at these addresses.
type system func(ctx context.Context, addresses []string) (func() (worker, error), error)

var systems = map[string]system{
	"etcd": etcd, "zookeeper": zookeeper, "postgresql": postgresql, "mariadb": mariadb,
	"redis": redisAlone, "redsync": redsyncOn, "wait-all": waitAll,
}

func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// again waits before a try that follows an error, so that a server that is down is not flooded.
func again() { time.Sleep(time.Millisecond) }

type counts struct {
	Cycles    int     `json:"cycles"`
	Failures  int     `json:"failures"`
	Seconds   float64 `json:"seconds"`
	AcquireUs []int64 `json:"-"`
	P50Us     int64   `json:"p50_us"`
	P99Us     int64   `json:"p99_us"`
	LastError string  `json:"last_error,omitempty"`
}

func (c *counts) cycle(ctx context.Context, by worker, resource string) {
	begin := now()
	err := by.acquire(ctx, resource)
	taken := now()
	if err == nil {
		err = by.release(ctx)
	}
	if err != nil {
		c.Failures++
		c.LastError = err.Error()
		again()
		return
	}
	c.Cycles++
	c.AcquireUs = append(c.AcquireUs, (taken-begin)/1000)
}

// cyclists keeps its workers from one call to the next.
func cyclists(newWorker func() (worker, error)) func(workers int) ([]worker, error) {
	all := []worker{}
	return func(workers int) ([]worker, error) {
		for len(all) < workers {
			one, err := newWorker()
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all[:workers], nil
	}
}

func cycles(ctx context.Context, all []worker, ms int) (any, error) {
	var mutex sync.Mutex
	var sum counts
	var running sync.WaitGroup
	begin := now()
	end := begin + int64(ms)*int64(time.Millisecond)
	for i, one := range all {
		running.Add(1)
		go func() {
			defer running.Done()
			var own counts
			for now() < end {
				own.cycle(ctx, one, fmt.Sprintf("own-%d-%d", os.Getpid(), i))
			}
			mutex.Lock()
			defer mutex.Unlock()
			sum.Cycles += own.Cycles
			sum.Failures += own.Failures
			sum.AcquireUs = append(sum.AcquireUs, own.AcquireUs...)
			if own.LastError != "" {
				sum.LastError = own.LastError
			}
		}()
	}
	running.Wait()
	sum.Seconds = float64(now()-begin) / 1e9
	if len(sum.AcquireUs) > 0 {
		slices.Sort(sum.AcquireUs)
		sum.P50Us = sum.AcquireUs[len(sum.AcquireUs)/2]
		sum.P99Us = sum.AcquireUs[len(sum.AcquireUs)*99/100]
	}
	return sum, nil
}

func contend(ctx context.Context, by worker, begin, end, holdUs int64) (any, error) {
	turns := [][2]int64{}
	time.Sleep(time.Duration(begin - now()))
	limited, cancel := context.WithDeadline(ctx, time.Now().Add(time.Duration(end-now())))
	defer cancel()
	for now() < end {
		if by.acquire(limited, "shared") != nil {
			again()
			continue
		}
		granted := now()
		rest := unix.NsecToTimespec(holdUs * 1000)
		for unix.Nanosleep(&rest, &rest) == unix.EINTR {
		}
		turns = append(turns, [2]int64{granted, now()})
		_ = by.release(ctx)
	}
	return map[string]any{"turns": turns}, nil
}

// patience is how long stream waits for one answer: etcd answers a request that has met no leader
// only after seven seconds.
const patience = 500 * time.Millisecond

// stream tries again after an error: what counts is when the next grant comes.
func stream(ctx context.Context, by worker, ms int) (any, error) {
	grants := []int64{}
	failures := 0
	for end := now() + int64(ms)*int64(time.Millisecond); now() < end; {
		limited, cancel := context.WithTimeout(ctx, patience)
		err := by.acquire(limited, fmt.Sprintf("own-%d", os.Getpid()))
		if err == nil {
			grants = append(grants, now())
			err = by.release(limited)
		}
		cancel()
		if err != nil {
			failures++
			again()
		}
	}
	return map[string]any{"grants": grants, "failures": failures}, nil
}

func take(ctx context.Context, by worker) (any, error) {
	err := by.acquire(ctx, "taken")
	for ; err != nil; err = by.acquire(ctx, "taken") {
		again()
	}
	return map[string]any{"granted": now()}, nil
}

func obey(ctx context.Context, newWorker func() (worker, error),
	cycling func(int) ([]worker, error), line string) (any, error) {
	words := strings.Fields(line)
	numbers := []int64{}
	for _, word := range words[1:] {
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	if words[0] == "cycles" && len(numbers) == 2 {
		all, err := cycling(int(numbers[0]))
		if err != nil {
			return nil, err
		}
		return cycles(ctx, all, int(numbers[1]))
	}
	one, err := newWorker()
	switch {
	case err != nil:
		return nil, err
	case words[0] == "contend" && len(numbers) == 3:
		return contend(ctx, one, numbers[0], numbers[1], numbers[2])
	case words[0] == "stream" && len(numbers) == 1:
		return stream(ctx, one, int(numbers[0]))
	case words[0] == "take":
		return take(ctx, one)
	}
	return nil, fmt.Errorf("'%s' is not understood", line)
}

func run(name string, addresses []string) error {
	connect, known := systems[name]
	if !known {
		return fmt.Errorf("there is no system '%s'", name)
	}
	ctx := context.Background()
	newWorker, err := connect(ctx, addresses)
	if err != nil {
		return err
	}
	cycling := cyclists(newWorker)
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer, err := obey(ctx, newWorker, cycling, lines.Text())
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: stores SYSTEM ADDRESS...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "stores:", err)
		os.Exit(1)
	}
}
