// Package rollout holds what the rules see of a simulated rollout, and what they decide.
package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Rollout is one line of the input. README.md describes the fields.
type Rollout struct {
	ID              json.RawMessage `json:"id"`
	IntervalSeconds float64         `json:"interval_seconds"`
	// RunTimeBoundsUs are the upper bounds of the buckets of the run times, in microseconds.
	RunTimeBoundsUs []float64 `json:"run_time_bounds_us"`
	// StablePast has the quantities of stable that an operator knows from the time before the rollout, above 0.
	StablePast map[string]float64 `json:"stable_past"`
	Points     []Point            `json:"points"`

	candidateRequests []float64 // candidateRequests[i]: requests in the first i points.
	series            map[seriesKey]Series
}

// Point holds the requests of both arms in the interval that ends at T.
type Point struct {
	T                 float64   `json:"t"`
	CandidateRequests float64   `json:"candidate_requests"`
	CandidateErrors   float64   `json:"candidate_errors"`
	CandidateP50Us    *float64  `json:"candidate_p50_us"`
	CandidateP90Us    *float64  `json:"candidate_p90_us"`
	CandidateP99Us    *float64  `json:"candidate_p99_us"`
	CandidateRunTimes []float64 `json:"candidate_run_times"`
	StableRequests    float64   `json:"stable_requests"`
	StableErrors      float64   `json:"stable_errors"`
	StableP50Us       *float64  `json:"stable_p50_us"`
	StableP90Us       *float64  `json:"stable_p90_us"`
	StableP99Us       *float64  `json:"stable_p99_us"`
	StableRunTimes    []float64 `json:"stable_run_times"`
}

// Parse reads a line. The error names the field that is wrong.
func Parse(line []byte) (*Rollout, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, fmt.Errorf("the line is empty")
	}
	parsed := &Rollout{series: map[seriesKey]Series{}}
	if err := Decode(line, parsed); err != nil {
		return nil, err
	}
	if len(parsed.ID) == 0 {
		return nil, fmt.Errorf("id is missing")
	}
	if !(parsed.IntervalSeconds > 0) {
		return nil, fmt.Errorf("interval_seconds is %v; it must be above 0", parsed.IntervalSeconds)
	}
	if len(parsed.Points) == 0 {
		return nil, fmt.Errorf("points is empty or missing")
	}
	for what, past := range parsed.StablePast {
		if !isQuantity(what) || !(past > 0) {
			return nil, fmt.Errorf("stable_past.%s is %v; it must be above 0, and the name must be one of %s", what, past, quantityNames())
		}
	}
	for i := 1; i < len(parsed.RunTimeBoundsUs); i++ {
		if !(parsed.RunTimeBoundsUs[i] > parsed.RunTimeBoundsUs[i-1]) {
			return nil, fmt.Errorf("run_time_bounds_us[%d] is %v; it must be above the bound before it", i, parsed.RunTimeBoundsUs[i])
		}
	}
	for i := range parsed.Points {
		if err := parsed.checkPoint(i); err != nil {
			return nil, err
		}
	}
	parsed.candidateRequests = make([]float64, len(parsed.Points)+1)
	for i, point := range parsed.Points {
		parsed.candidateRequests[i+1] = parsed.candidateRequests[i] + point.CandidateRequests
	}
	return parsed, nil
}

// Decode reads exactly one JSON value and refuses unknown fields.
func Decode(text []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("there is more text after the JSON object")
	}
	return nil
}

func (r *Rollout) checkPoint(i int) error {
	point := &r.Points[i]
	if wanted := float64(i+1) * r.IntervalSeconds; math.Abs(point.T-wanted) > 1e-6*r.IntervalSeconds {
		return fmt.Errorf("points[%d].t is %v; with interval_seconds %v it must be %v", i, point.T, r.IntervalSeconds, wanted)
	}
	for _, arm := range []Arm{Candidate, Stable} {
		requests, errors, runTimes := point.counts(arm)
		if !(requests >= 0) || !(errors >= 0) || errors > requests {
			return fmt.Errorf("points[%d]: %s_requests is %v and %s_errors is %v; there must be 0 to %v errors", i, arm, requests, arm, errors, requests)
		}
		if len(runTimes) != 0 && len(runTimes) != len(r.RunTimeBoundsUs) {
			return fmt.Errorf("points[%d].%s_run_times has %d counts, but run_time_bounds_us has %d bounds", i, arm, len(runTimes), len(r.RunTimeBoundsUs))
		}
	}
	return nil
}

func (p *Point) counts(arm Arm) (requests, errors float64, runTimes []float64) {
	if arm == Candidate {
		return p.CandidateRequests, p.CandidateErrors, p.CandidateRunTimes
	}
	return p.StableRequests, p.StableErrors, p.StableRunTimes
}

func (p *Point) quantile(arm Arm, quantile float64) *float64 {
	type key struct {
		arm      Arm
		quantile float64
	}
	switch (key{arm, quantile}) {
	case key{Candidate, 0.5}:
		return p.CandidateP50Us
	case key{Candidate, 0.9}:
		return p.CandidateP90Us
	case key{Candidate, 0.99}:
		return p.CandidateP99Us
	case key{Stable, 0.5}:
		return p.StableP50Us
	case key{Stable, 0.9}:
		return p.StableP90Us
	default:
		return p.StableP99Us
	}
}

// EndSeconds is the time of the last point.
func (r *Rollout) EndSeconds() float64 { return float64(len(r.Points)) * r.IntervalSeconds }

// PointsUntil returns how many points have ended at the time.
func (r *Rollout) PointsUntil(seconds float64) int {
	return max(0, min(len(r.Points), int(math.Floor(seconds/r.IntervalSeconds+1e-6))))
}

// DurationPoints returns the number of points in a duration, which must be a multiple of the rollout's interval.
func (r *Rollout) DurationPoints(what string, seconds float64) (int, error) {
	points := math.Round(seconds / r.IntervalSeconds)
	if points < 1 || math.Abs(points*r.IntervalSeconds-seconds) > 1e-6*r.IntervalSeconds {
		return 0, fmt.Errorf("%s of %v s is not a multiple of interval_seconds, which is %v", what, seconds, r.IntervalSeconds)
	}
	return int(points), nil
}
