// Package answers remembers what a foreign function of one number has answered, so that it is asked less often.
package answers

import (
	"fmt"
	"math"
	"slices"
)

// Kind says what is known about the function.
type Kind int

const (
	// Arbitrary functions may answer anything for a number that was not asked before.
	Arbitrary Kind = iota
	// Convex functions answer the same for all finite numbers between two numbers with the same answer. A comparison of
	// the number with a fixed limit is convex.
	Convex
)

const rememberedMax = 1 << 16

type span[A comparable] struct {
	low, high float64
	answer    A
}

// Answers remembers the answers of one function.
type Answers[A comparable] struct {
	ask   func(value float64) (A, error)
	kind  Kind
	spans []span[A]    // Of a convex function: the known numbers of each answer.
	exact map[uint64]A // NaN, infinities, and every number of an arbitrary function.
	Asked int          // How often the function was asked.
}

// New returns an empty memory of a function.
func New[A comparable](kind Kind, ask func(value float64) (A, error)) *Answers[A] {
	return &Answers[A]{ask: ask, kind: kind, exact: map[uint64]A{}}
}

// Of returns the function's answer.
func (a *Answers[A]) Of(value float64) (A, error) {
	if a.kind == Arbitrary || math.IsNaN(value) || math.IsInf(value, 0) {
		return a.ofExact(value)
	}
	for i := range a.spans {
		if a.spans[i].low <= value && value <= a.spans[i].high {
			return a.spans[i].answer, nil
		}
	}
	a.Asked++
	answer, err := a.ask(value)
	if err != nil {
		return answer, err
	}
	return answer, a.widen(value, answer)
}

func (a *Answers[A]) ofExact(value float64) (A, error) {
	bits := math.Float64bits(value)
	if answer, ok := a.exact[bits]; ok {
		return answer, nil
	}
	if len(a.exact) >= rememberedMax {
		clear(a.exact)
	}
	a.Asked++
	answer, err := a.ask(value)
	if err == nil {
		a.exact[bits] = answer
	}
	return answer, err
}

// widen adds a number to the span of its answer. Spans of a convex function do not overlap.
func (a *Answers[A]) widen(value float64, answer A) error {
	i := slices.IndexFunc(a.spans, func(known span[A]) bool { return known.answer == answer })
	if i < 0 {
		a.spans = append(a.spans, span[A]{value, value, answer})
		return nil
	}
	a.spans[i].low = min(a.spans[i].low, value)
	a.spans[i].high = max(a.spans[i].high, value)
	for j := range a.spans {
		if j != i && a.spans[j].low <= a.spans[i].high && a.spans[i].low <= a.spans[j].high {
			return fmt.Errorf("a function that compares a number with limits answered %v for %v and %v for a number beside it", answer, value, a.spans[j].answer)
		}
	}
	return nil
}
