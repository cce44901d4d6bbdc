// Judges the histories of a chaos run with Porcupine, as a lock that hands out fences; knows no redlock.
// SPDX-License-Identifier: MIT

// The program is a second checker: it reads the files that journal.hpp describes and shares nothing
// else with the checker.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const usage = `usage: porcupine DIRECTORY

Reads DIRECTORY/*.history and judges each resource. Where DIRECTORY/unjudged is there, each of its
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
	fence uint64
}

// lock is the whole state: who has it is told by the fence, 0 for nobody.
type lock struct{ holder, highest uint64 }

func apply(state, input, _ any) (bool, any) {
	now, s := state.(lock), input.(step)
	switch s.what {
	case acquire:
		return now.holder == 0 && s.fence > now.highest, lock{s.fence, s.fence}
	case trust:
		return now.holder == s.fence, now
	default:
		return now.holder == s.fence, lock{0, now.highest}
	}
}

func at(what act, fence uint64, from, until int64) porcupine.Operation {
	return porcupine.Operation{Input: step{what, fence}, Call: from, Return: until}
}

type section struct {
	resource          string
	fence             uint64
	trusted, validity int64
}

type reader struct {
	operations map[string][]porcupine.Operation
	sections   int
}

// end adds what ends a section at the last instant that is its holder's.
func (r *reader) end(s *section, last int64) {
	r.operations[s.resource] = append(r.operations[s.resource], at(release, s.fence, last, last))
}

func (r *reader) line(open map[string]*section, line string) error {
	// what, section, contender, resource, owner, fence, at, valid until, text
	words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 9)
	if len(words) != 9 {
		return errors.New("not understood: " + line)
	}
	fence, wrong := strconv.ParseUint(words[5], 10, 64)
	now, wrong2 := strconv.ParseInt(words[6], 10, 64)
	validity, wrong3 := strconv.ParseInt(words[7], 10, 64)
	if err := errors.Join(wrong, wrong2, wrong3); err != nil {
		return err
	}
	s := open[words[1]]
	switch words[0] {
	case "G":
		r.sections++
		open[words[1]] = &section{words[3], fence, now, validity}
		r.operations[words[3]] = append(r.operations[words[3]], at(acquire, fence, now, now))
		return nil
	case "S", "E":
		if s == nil {
			return errors.New("of no section: " + line)
		}
	default:
		return nil // no lease: nothing that a lock could have done otherwise
	}
	s.trusted, s.validity = max(s.trusted, now), max(s.validity, validity)
	if words[0] == "E" {
		r.end(s, s.trusted)
		delete(open, words[1])
		return nil
	}
	r.operations[s.resource] = append(r.operations[s.resource], at(trust, s.fence, now, now))
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
		if err := r.line(open, line); err != nil {
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
	highest := uint64(0)
	for _, piece := range pieces(history) {
		from, until := piece[0].Call, piece[len(piece)-1].Return
		if touches(unjudged, from, until) {
			continue
		}
		model := porcupine.Model{
			Init: func() any { return lock{0, highest} },
			Step: apply,
		}
		result := porcupine.CheckOperationsTimeout(model, piece, patience)
		if result != porcupine.Ok {
			return result, fmt.Sprintf("between %d and %d", from, until)
		}
		for _, operation := range piece {
			highest = max(highest, operation.Input.(step).fence)
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
	fmt.Printf("porcupine: %d histories, %d sections, %d operations on %d resources: %s\n",
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
