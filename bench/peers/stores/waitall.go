// Redlock as its description has it: to all nodes at once, and then all are waited for.
// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// nodeTimeout is how long a node may take for an answer before it counts as one that refused.
const nodeTimeout = 250 * time.Millisecond

// node is one connection of one worker, without a client library between.
type node struct {
	address    string
	connection net.Conn
	reader     *bufio.Reader
}

func (n *node) fail() {
	if n.connection != nil {
		n.connection.Close()
	}
	n.connection = nil
}

func (n *node) send(words ...string) {
	if n.connection == nil {
		connection, err := net.DialTimeout("tcp", n.address, nodeTimeout)
		if err != nil {
			return
		}
		n.connection, n.reader = connection, bufio.NewReader(connection)
	}
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := n.connection.Write([]byte(text)); err != nil {
		n.fail()
	}
}

// answer is the line of a simple reply, or empty.
func (n *node) answer() string {
	if n.connection == nil {
		return ""
	}
	_ = n.connection.SetReadDeadline(time.Now().Add(nodeTimeout))
	line, err := n.reader.ReadString('\n')
	if err != nil {
		n.fail() // an answer that comes late must not be taken for the next one
	}
	return strings.TrimSpace(line)
}

type waitAllWorker struct {
	nodes           []*node
	resource, value string
}

func waitAll(_ context.Context, addresses []string) (func() (worker, error), error) {
	return func() (worker, error) {
		one := &waitAllWorker{}
		for _, address := range addresses {
			one.nodes = append(one.nodes, &node{address: address})
		}
		return one, nil
	}, nil
}

func (w *waitAllWorker) acquire(ctx context.Context, resource string) error {
	w.resource = resource
	for {
		w.value = randomValue()
		begin := time.Now()
		for _, one := range w.nodes {
			one.send("SET", resource, w.value, "NX", "PX", fmt.Sprint(ttl.Milliseconds()))
		}
		votes := 0
		for _, one := range w.nodes {
			if one.answer() == "+OK" {
				votes++
			}
		}
		if votes > len(w.nodes)/2 && time.Since(begin) < ttl-ttl/100-2*time.Millisecond {
			return nil
		}
		if err := w.release(ctx); err != nil {
			return err
		}
		if err := lookAgain(ctx); err != nil {
			return err
		}
	}
}

func (w *waitAllWorker) release(context.Context) error {
	for _, one := range w.nodes {
		one.send("EVAL", compareAndDelete, "1", w.resource, w.value)
	}
	for _, one := range w.nodes {
		one.answer()
	}
	return nil
}
