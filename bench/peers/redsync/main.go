// Contends for one resource with redsync; its lines are those of processes.hpp; knows no redlock.
// SPDX-License-Identifier: MIT

// The program is the polling peer that scripts/bench measures redlock beside.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4"
	"golang.org/x/sys/unix"

	"redlock.bench/redsync/nodes"
	"redlock.bench/redsync/usage"
)

const (
	section   = time.Millisecond
	manyTries = 1 << 30 // it never gives up
)

type turn struct{ asked, granted, released int64 }

// nowNs reads the suspend-proof clock, which all processes of a machine share.
func nowNs() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// hold sleeps in the system: the timers of Go are coarser, and would lengthen the section.
func hold() {
	rest := unix.NsecToTimespec(section.Nanoseconds())
	for unix.Nanosleep(&rest, &rest) == unix.EINTR {
	}
}

// warmUp has the nodes load redsync's script.
func warmUp(locks *redsync.Redsync) error {
	own := locks.NewMutex("bench:warm-up:" + strconv.Itoa(os.Getpid()))
	if err := own.Lock(); err != nil {
		return err
	}
	_, err := own.Unlock()
	return err
}

func contend(mutex *redsync.Mutex, end int64) (turns []turn, failures int) {
	for {
		t := turn{asked: nowNs()}
		if t.asked >= end {
			return turns, failures
		}
		err := mutex.Lock()
		t.granted = nowNs()
		if err != nil {
			failures++
			continue
		}
		hold()
		t.released = nowNs()
		turns = append(turns, t)
		if ok, err := mutex.Unlock(); !ok || err != nil {
			failures++
		}
	}
}

// optionsOf leaves redsync's own delay, random from 50 to 250 ms, where none is given.
func optionsOf(delay, answers string) ([]redsync.Option, error) {
	options := []redsync.Option{
		redsync.WithTries(manyTries),
		redsync.WithFailFast(answers == "fail-fast"),
	}
	if delay != "default" {
		ms, err := strconv.Atoi(delay)
		if err != nil {
			return nil, err
		}
		options = append(options, redsync.WithRetryDelay(time.Duration(ms)*time.Millisecond))
	}
	return options, nil
}

func run(options []redsync.Option, resource string, ports []string) error {
	locks, err := nodes.Connect(ports, nodes.Usual)
	if err != nil {
		return err
	}
	if err := warmUp(locks); err != nil {
		return err
	}
	fmt.Println("ready")
	var begin, end int64
	if _, err := fmt.Scanf("go %d %d\n", &begin, &end); err != nil {
		return err
	}
	cpu := usage.CPUUs()
	time.Sleep(time.Duration(begin - nowNs()))
	turns, failures := contend(locks.NewMutex(resource, options...), end)
	cpu = usage.CPUUs() - cpu
	out := bufio.NewWriter(os.Stdout)
	for _, t := range turns {
		fmt.Fprintln(out, "turn 0", t.asked, t.granted, t.released)
	}
	fmt.Fprintln(out, "done", cpu, failures)
	return out.Flush()
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr,
			"usage: redsync_contender default|DELAY_IN_MS all|fail-fast RESOURCE PORT...")
		os.Exit(2)
	}
	options, err := optionsOf(os.Args[1], os.Args[2])
	if err == nil {
		err = run(options, os.Args[3], os.Args[4:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "redsync_contender:", err)
		os.Exit(1)
	}
}
