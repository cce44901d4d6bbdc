// Judges the histories of a chaos run with Porcupine, by models of locks; knows no redlock.
// SPDX-License-Identifier: MIT

// The program is a second checker: it reads the files that journal.hpp describes and shares nothing
// else with the checker.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const usage = `usage: porcupine DIRECTORY

Reads DIRECTORY/*.history and judges each resource, as a lock of one holder or many readers, and its
slots, as a lock of so many holders. Where DIRECTORY/unjudged is there, each of its
lines is a time "FROM UNTIL" at which the promises did not hold: what touches it is passed over.
One line on the standard output; status 0 where all is as a lock with fences would do it, 1 where it
is not, 2 without a verdict.
`

const patience = 5 * time.Minute

type act int

const (
	acquire act = iota // gets the fence
	trust              // the holder saw that it still has it
	release            // by the holder or by time
)

type step struct {
	what  act
	lease string // which program's, and which of its
	of    part
	fence uint64
	asked int64 // no earlier than this
	when  int64
}

// part says what of a resource a lease is of: all of it, alone or beside readers; or a slot.
type part struct {
	isShared, isSlot bool
	slot, slots      int
}

func parsePart(text string) (part, error) {
	var p part
	switch {
	case text == "X":
		return p, nil
	case text == "R":
		return part{isShared: true}, nil
	case strings.HasPrefix(text, "K"):
		_, err := fmt.Sscanf(text, "K%d/%d", &p.slot, &p.slots)
		p.isSlot = true
		return p, err
	}
	return p, errors.New("of no part of a resource: " + text)
}

// holder is one that has a lock, or a slot of one.
type holder struct {
	lease string
	of    part
	since int64
}

// lock is a state, and never changed: its holders, and for each slot (0 where there is but one
// place) the highest fences, of all holders and of those that were no readers.
type lock struct {
	holders         map[string]holder
	highest, alones map[int]uint64
}

func unlocked() lock {
	return lock{map[string]holder{}, map[int]uint64{}, map[int]uint64{}}
}

func (l lock) with(s step) lock {
	next := lock{maps.Clone(l.holders), maps.Clone(l.highest), maps.Clone(l.alones)}
	next.holders[s.lease] = holder{s.lease, s.of, s.when}
	next.note(s)
	return next
}

func (l lock) without(s step) lock {
	next := lock{maps.Clone(l.holders), l.highest, l.alones}
	delete(next.holders, s.lease)
	return next
}

func (l lock) note(s step) {
	l.highest[s.of.slot] = max(l.highest[s.of.slot], s.fence)
	if !s.of.isShared {
		l.alones[s.of.slot] = max(l.alones[s.of.slot], s.fence)
	}
}

// lets says whether there is a place for this one. Where holders name different numbers of slots,
// nobody asks for one beyond the smallest and gets it; a holder of one keeps it.
func (l lock) lets(s step) bool {
	for _, other := range l.holders {
		if !s.of.isSlot && !(s.of.isShared && other.of.isShared) {
			return false
		}
		if s.of.isSlot && other.of.slot == s.of.slot {
			return false
		}
		if s.of.isSlot && s.of.slot >= other.of.slots && s.asked >= other.since {
			return false
		}
	}
	if s.of.isSlot && s.of.slot >= s.of.slots {
		return false
	}
	if s.of.isShared {
		return s.fence > l.alones[s.of.slot]
	}
	return s.fence > l.highest[s.of.slot]
}

func apply(state, input, _ any) (bool, any) {
	now, s := state.(lock), input.(step)
	_, isHeld := now.holders[s.lease]
	switch {
	case s.what == acquire && now.lets(s):
		return true, now.with(s)
	case s.what == trust && isHeld:
		return true, now
	case s.what == release && isHeld:
		return true, now.without(s)
	}
	return false, now
}

func isEqual(one, other any) bool {
	a, b := one.(lock), other.(lock)
	return maps.Equal(a.holders, b.holders) && maps.Equal(a.highest, b.highest) &&
		maps.Equal(a.alones, b.alones)
}

func at(what act, of *section, when int64) porcupine.Operation {
	one := step{what, of.lease, of.of, of.fence, of.asked, when}
	return porcupine.Operation{Input: one, Call: when, Return: when}
}

type section struct {
	locks                   []string // more than one where several are held at once
	lease                   string
	of                      part
	fence                   uint64
	trusted, validity, kept int64
	asked                   int64
}

type reader struct {
	operations map[string][]porcupine.Operation // of each lock
	sections   int
}

func (r *reader) add(what act, s *section, when int64) {
	for _, lock := range s.locks {
		r.operations[lock] = append(r.operations[lock], at(what, s, when))
	}
}

// end adds what ends a section at the last instant at which nobody else may have what it had.
func (r *reader) end(s *section, last int64) {
	r.add(release, s, max(last, s.kept))
}

// begin reads the line of a grant.
func (r *reader) begin(program string, words []string) (*section, error) {
	of, wrong := parsePart(words[4])
	fence, wrong2 := strconv.ParseUint(words[6], 10, 64)
	kept, wrong3 := strconv.ParseInt(words[9], 10, 64)
	asked, wrong4 := strconv.ParseInt(words[10], 10, 64)
	s := &section{lease: program + " " + words[1], of: of, fence: fence, kept: kept, asked: asked}
	for _, name := range strings.Split(words[3], "+") {
		if of.isSlot {
			name += "'s slots" // another lock than the resource itself
		}
		s.locks = append(s.locks, name)
	}
	r.sections++
	return s, errors.Join(wrong, wrong2, wrong3, wrong4)
}

func (r *reader) line(program string, open map[string]*section, line string) error {
	// what, section, contender, resource, part, owner, fence, at, valid until, kept until, begun
	// at, text
	words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 12)
	if len(words) != 12 {
		return errors.New("not understood: " + line)
	}
	now, wrong := strconv.ParseInt(words[7], 10, 64)
	validity, wrong2 := strconv.ParseInt(words[8], 10, 64)
	if err := errors.Join(wrong, wrong2); err != nil {
		return err
	}
	what := trust
	switch words[0] {
	case "G":
		s, err := r.begin(program, words)
		if err != nil {
			return err
		}
		open[words[1]] = s
		what = acquire
	case "S", "E":
		if open[words[1]] == nil {
			return errors.New("of no section: " + line)
		}
	default:
		return nil // no lease: nothing that a lock could have done otherwise
	}
	s := open[words[1]]
	s.trusted, s.validity = max(s.trusted, now), max(s.validity, validity)
	if words[0] == "E" {
		r.end(s, s.trusted)
		delete(open, words[1])
		return nil
	}
	r.add(what, s, now)
	return nil
}

// file reads one program's history. What it had not ended when it was killed ends with the validity.
func (r *reader) file(path string) error {
	text, err := os.Open(path)
	if err != nil {
		return err
	}
	defer text.Close()
	open := map[string]*section{}
	for lines := bufio.NewReader(text); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line without an end was never finished
		}
		if err := r.line(path, open, line); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, s := range open {
		r.end(s, s.validity)
	}
	return nil
}

type span struct{ from, until int64 }

func readUnjudged(path string) ([]span, error) {
	text, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer text.Close()
	var all []span
	for {
		var s span
		if _, err := fmt.Fscan(text, &s.from, &s.until); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, s)
	}
}

func touches(all []span, from, until int64) bool {
	for _, s := range all {
		if s.from <= until && from <= s.until {
			return true
		}
	}
	return false
}

// pieces cuts a history where nothing is under way: what comes before cannot be ordered after. So the
// cost grows with its length, not with the square.
func pieces(history []porcupine.Operation) [][]porcupine.Operation {
	sort.SliceStable(history, func(i, j int) bool { return history[i].Call < history[j].Call })
	var all [][]porcupine.Operation
	begin, held := 0, 0
	for i, operation := range history {
		switch operation.Input.(step).what {
		case acquire:
			held++
		case release:
			held--
		}
		isLast := i+1 == len(history)
		if isLast || (held == 0 && i-begin >= 100 && history[i+1].Call > operation.Return) {
			all = append(all, history[begin:i+1])
			begin = i + 1
		}
	}
	return all
}

func judge(history []porcupine.Operation, unjudged []span) (porcupine.CheckResult, string) {
	before := unlocked()
	for _, piece := range pieces(history) {
		from, until := piece[0].Call, piece[len(piece)-1].Return
		if touches(unjudged, from, until) {
			continue
		}
		model := porcupine.Model{
			Init:  func() any { return before },
			Step:  apply,
			Equal: isEqual,
		}
		result := porcupine.CheckOperationsTimeout(model, piece, patience)
		if result != porcupine.Ok {
			return result, fmt.Sprintf("between %d and %d", from, until)
		}
		// Nobody has it in between: of what was, the fences are left.
		for _, operation := range piece {
			before.note(operation.Input.(step))
		}
	}
	return porcupine.Ok, ""
}

func run(directory string) (int, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.history"))
	if err != nil || len(files) == 0 {
		return 2, errors.Join(err, errors.New("no history in "+directory))
	}
	r := reader{operations: map[string][]porcupine.Operation{}}
	for _, path := range files {
		if err := r.file(path); err != nil {
			return 2, err
		}
	}
	unjudged, err := readUnjudged(filepath.Join(directory, "unjudged"))
	if err != nil {
		return 2, err
	}
	status, operations := 0, 0
	for resource, history := range r.operations {
		operations += len(history)
		result, where := judge(history, unjudged)
		if result == porcupine.Illegal {
			fmt.Fprintf(os.Stderr, "porcupine: no lock would do this: %s %s\n", resource, where)
			status = 1
		} else if result != porcupine.Ok {
			return 2, fmt.Errorf("no verdict on %s %s in time", resource, where)
		}
	}
	fmt.Printf("porcupine: %d histories, %d sections, %d operations on %d locks: %s\n",
		len(files), r.sections, operations, len(r.operations),
		map[int]string{0: "a lock", 1: "no lock"}[status])
	return status, nil
}

func main() {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		fmt.Print(usage)
		os.Exit(2)
	}
	status, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "porcupine:", err)
	}
	os.Exit(status)
}
