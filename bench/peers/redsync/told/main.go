// Takes and gives back a redsync lock as tests/interop/parties.py says; knows no redlock.
// SPDX-License-Identifier: MIT

// The program is the other library that tests/interop has redlock meet.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"golang.org/x/sys/unix"

	"redlock.bench/redsync/nodes"
)

const (
	manyTries  = 1 << 30 // its time ends them
	retryDelay = 5 * time.Millisecond
	hasteDelay = 3 * time.Millisecond
)

// take polls for wait, or tries once where that is zero.
func take(mutex *redsync.Mutex, wait time.Duration) error {
	if wait == 0 {
		return mutex.TryLock()
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return mutex.LockContext(ctx)
}

func answer(yes bool, err error) string {
	text := "no"
	if yes {
		return "yes"
	}
	if err != nil {
		text += " " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return text
}

// nowNs reads the suspend-proof clock, which all processes of a machine share.
func nowNs() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// hold sleeps in the system: the timers of Go are coarser, and would lengthen the section.
func hold(us int64) {
	rest := unix.NsecToTimespec(us * 1000)
	for unix.Nanosleep(&rest, &rest) == unix.EINTR {
	}
}

// contend takes turns until then, and counts them.
func contend(mutex *redsync.Mutex, begin, end, sectionUs int64) (turns int, err error) {
	time.Sleep(time.Duration(begin - nowNs()))
	for nowNs() < end {
		if err := mutex.Lock(); err != nil {
			return turns, err
		}
		hold(sectionUs)
		turns++
		if ok, err := mutex.Unlock(); !ok || err != nil {
			return turns, fmt.Errorf("could not unlock: %w", err)
		}
	}
	return turns, nil
}

func serve(key string, ports []string, failFast bool) error {
	locks, err := nodes.Connect(ports, nodes.Usual)
	if err != nil {
		return err
	}
	mutex := locks.NewMutex(key)
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		var ttl, wait, begin, end, section int64
		switch line := input.Text(); {
		case line == "check":
			fmt.Println(answer(mutex.Valid()))
		case line == "release":
			fmt.Println(answer(mutex.Unlock()))
		case strings.HasPrefix(line, "contend "):
			if _, err := fmt.Sscanf(line, "contend %d %d %d", &begin, &end, &section); err != nil {
				return err
			}
			turns, err := contend(locks.NewMutex(key, redsync.WithTries(manyTries),
				redsync.WithRetryDelay(hasteDelay)), begin, end, section)
			if err != nil {
				fmt.Println(answer(false, err))
			} else {
				fmt.Println("yes", turns)
			}
		default:
			if _, err := fmt.Sscanf(line, "take %d %d", &ttl, &wait); err != nil {
				return err
			}
			mutex = locks.NewMutex(key, redsync.WithExpiry(time.Duration(ttl)*time.Millisecond),
				redsync.WithTries(manyTries), redsync.WithRetryDelay(retryDelay), redsync.WithFailFast(failFast))
			err := take(mutex, time.Duration(wait)*time.Millisecond)
			fmt.Println(answer(err == nil, err))
		}
	}
	return nil
}

func main() {
	failFast := len(os.Args) > 1 && os.Args[1] == "--fail-fast"
	words := os.Args[1:]
	if failFast {
		words = words[1:]
	}
	if len(words) < 2 {
		fmt.Fprintln(os.Stderr, "usage: redsync_told [--fail-fast] KEY PORT...")
		os.Exit(2)
	}
	if err := serve(words[0], words[1:], failFast); err != nil {
		fmt.Fprintln(os.Stderr, "redsync_told:", err)
		os.Exit(1)
	}
}
