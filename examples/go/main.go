// A Go program that works under a lock, by cgo: what fences a write, and how a loss stops the work.
// SPDX-License-Identifier: MIT
package main

/*
#cgo LDFLAGS: -lredlock_c
#include <poll.h>
#include <stdlib.h>
#include <redlock/c.h>

static void wait_for_loss(int lost, int done) {
	struct pollfd both[2] = {{lost, POLLIN, 0}, {done, POLLIN, 0}};
	while (poll(both, 2, -1) < 0) continue;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"
)

// Client is one for the whole program: any goroutine may use it.
type Client struct{ of *C.redlock_client }

// Lease is what the holder of a lock has. Lost is closed when it can no longer be relied on.
type Lease struct {
	of    *C.redlock_lease
	Fence uint64
	Lost  <-chan struct{}
	stop  func()
}

// The reason belongs to the thread that called: the goroutine keeps it until it has read that.
func call(f func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if number := f(); number != 0 {
		return fmt.Errorf("redlock: %s (%d)", C.GoString(C.redlock_last_error()), int(number))
	}
	return nil
}

// FromFile makes a client of a configuration.
func FromFile(path string) (*Client, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	client := &Client{}
	return client, call(func() C.int { return C.redlock_client_from_file(name, &client.of) })
}

// Close releases all leases.
func (c *Client) Close() { C.redlock_client_free(c.of) }

// Acquire waits for the lease for up to so long.
func (c *Client) Acquire(resource string, ttl, wait time.Duration) (*Lease, error) {
	name := C.CString(resource)
	defer C.free(unsafe.Pointer(name))
	how := C.redlock_options{
		size:   C.sizeof_redlock_options,
		ttl_ms: C.int64_t(ttl.Milliseconds()), wait_ms: C.int64_t(wait.Milliseconds()),
	}
	lease := &Lease{}
	err := call(func() C.int { return C.redlock_acquire(c.of, name, &how, &lease.of) })
	if err != nil {
		return nil, err
	}
	lease.Fence = uint64(C.redlock_lease_fence(lease.of))
	return lease, lease.watch()
}

// A goroutine waits for the lease's descriptor, until the release closes the pipe beside it.
func (l *Lease) watch() error {
	over, done, err := os.Pipe()
	if err != nil {
		C.redlock_lease_free(l.of)
		return err
	}
	lost, ended := make(chan struct{}), make(chan struct{})
	descriptor := C.redlock_lease_lost_fd(l.of)
	go func() {
		C.wait_for_loss(descriptor, C.int(over.Fd()))
		if C.redlock_lease_valid(l.of) == 0 {
			close(lost)
		}
		close(ended)
	}()
	l.Lost, l.stop = lost, func() {
		done.Close()
		<-ended
		over.Close()
	}
	return nil
}

// Release gives the lock back. An error says that the lease was lost before.
func (l *Lease) Release() error {
	l.stop()
	return call(func() C.int { return C.redlock_release(l.of) })
}

func main() {
	client, err := FromFile(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer client.Close()
	lease, err := client.Acquire("stock:4711", 10*time.Second, 5*time.Second)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {
	case <-lease.Lost:
		fmt.Println("stopped: the lease is lost")
	case <-time.After(10 * time.Millisecond): // the work, which sends the fence with each write
		fmt.Println("worked with fence", lease.Fence)
	}
	if err := lease.Release(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
