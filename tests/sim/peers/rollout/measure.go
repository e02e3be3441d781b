package rollout

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Arm is one side of the comparison.
type Arm string

const (
	Candidate Arm = "candidate"
	Stable    Arm = "stable"
)

// Measure is what a rule reads from a window, for example candidate_error_share or p99_us_ratio.
type Measure struct {
	of     string // candidate, stable, difference or ratio.
	what   string // A key of quantities.
	byPast bool   // Divided by the quantity of stable in the past, before the rollout.
}

// byPastSuffix ends the name of a measure that is divided by the past.
const byPastSuffix = "_by_past"

var quantities = map[string]float64{ // Quantity -> its quantile; 0 for those without.
	"error_share": 0, "success_percent": 0, "p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99,
}

// ParseMeasure reads a name such as candidate_p99_us, error_share_difference, p50_us_ratio or candidate_p99_us_by_past.
func ParseMeasure(name string) (Measure, error) {
	now, byPast := strings.CutSuffix(name, byPastSuffix)
	for _, of := range []string{"candidate", "stable"} {
		if what, ok := strings.CutPrefix(now, of+"_"); ok && isQuantity(what) {
			return Measure{of, what, byPast}, nil
		}
	}
	for _, of := range []string{"difference", "ratio"} {
		if what, ok := strings.CutSuffix(now, "_"+of); ok && isQuantity(what) {
			return Measure{of, what, byPast}, nil
		}
	}
	return Measure{}, fmt.Errorf("unknown measure %q; it is candidate_X, stable_X, X_difference or X_ratio, where X is %s, or one of these with the suffix %s", name, quantityNames(), byPastSuffix)
}

// Of returns the measure of a quantity, such as p99_us, of one arm.
func Of(arm Arm, quantity string) (Measure, error) {
	if !isQuantity(quantity) {
		return Measure{}, fmt.Errorf("unknown quantity %q; it is %s", quantity, quantityNames())
	}
	return Measure{string(arm), quantity, false}, nil
}

func isQuantity(name string) bool { _, ok := quantities[name]; return ok }

func quantityNames() string {
	names := []string{}
	for name := range quantities {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Value is a measure over one window. It does not exist while an arm that it needs has had no request at all, as a
// time series of Prometheus does not exist before its first sample. If the window has no request, the value is NaN.
type Value struct {
	Value  float64
	Exists bool
}

// Series has the value of a measure over the window that ends with the first i points, for each i from 0.
type Series []Value

type seriesKey struct {
	measure Measure
	points  int
}

// Series returns the values of a measure over windows of some points.
func (r *Rollout) Series(measure Measure, points int) (Series, error) {
	key := seriesKey{measure, points}
	if found, ok := r.series[key]; ok {
		return found, nil
	}
	made, err := r.makeSeries(measure, points)
	if err == nil {
		r.series[key] = made
	}
	return made, err
}

func (r *Rollout) makeSeries(measure Measure, points int) (Series, error) {
	if measure.byPast {
		return r.seriesByPast(measure, points)
	}
	if measure.of == string(Candidate) || measure.of == string(Stable) {
		return r.armSeries(Arm(measure.of), measure.what, points)
	}
	candidate, err := r.Series(Measure{string(Candidate), measure.what, false}, points)
	if err != nil {
		return nil, err
	}
	stable, err := r.Series(Measure{string(Stable), measure.what, false}, points)
	if err != nil {
		return nil, err
	}
	made := make(Series, len(candidate))
	for i := range made {
		made[i].Exists = candidate[i].Exists && stable[i].Exists
		if measure.of == "ratio" {
			made[i].Value = candidate[i].Value / stable[i].Value
		} else {
			made[i].Value = candidate[i].Value - stable[i].Value
		}
	}
	return made, nil
}

func (r *Rollout) seriesByPast(measure Measure, points int) (Series, error) {
	past, ok := r.StablePast[measure.what]
	if !ok {
		return nil, fmt.Errorf("stable_past.%s is missing, which a measure with the suffix %s needs", measure.what, byPastSuffix)
	}
	now, err := r.Series(Measure{measure.of, measure.what, false}, points)
	if err != nil {
		return nil, err
	}
	made := make(Series, len(now))
	for i, value := range now {
		made[i] = Value{value.Value / past, value.Exists}
	}
	return made, nil
}

func (r *Rollout) armSeries(arm Arm, what string, points int) (Series, error) {
	made := make(Series, len(r.Points)+1)
	made[0].Value = math.NaN()
	window := window{rollout: r, arm: arm, quantile: quantities[what], points: points}
	for end := 1; end <= len(r.Points); end++ {
		window.advance(end)
		made[end].Exists = made[end-1].Exists || window.requests > 0
		value, err := window.value(what, end)
		if err != nil {
			return nil, err
		}
		made[end].Value = value
	}
	return made, nil
}

// window slides over the points and keeps the sums of one arm.
type window struct {
	rollout          *Rollout
	arm              Arm
	quantile         float64
	points           int
	requests, errors float64
	runTimes         []float64
}

// advance moves the end of the window by one point, so that it ends with the first `end` points.
func (w *window) advance(end int) {
	w.add(end-1, 1)
	if gone := end - 1 - w.points; gone >= 0 {
		w.add(gone, -1)
	}
}

func (w *window) add(i int, sign float64) {
	requests, errors, runTimes := w.rollout.Points[i].counts(w.arm)
	w.requests += sign * requests
	w.errors += sign * errors
	if w.quantile == 0 || len(runTimes) == 0 {
		return
	}
	if w.runTimes == nil {
		w.runTimes = make([]float64, len(runTimes))
	}
	for bucket, count := range runTimes {
		w.runTimes[bucket] += sign * count
	}
}

func (w *window) value(what string, end int) (float64, error) {
	if w.quantile != 0 {
		return w.quantileValue(what, end)
	}
	if w.requests <= 0 {
		return math.NaN(), nil
	}
	if what == "success_percent" {
		return 100 * (w.requests - w.errors) / w.requests, nil
	}
	return w.errors / w.requests, nil
}

func (w *window) quantileValue(what string, end int) (float64, error) {
	if w.requests <= 0 {
		return math.NaN(), nil
	}
	given := w.rollout.Points[end-1].quantile(w.arm, w.quantile)
	if w.points == 1 && given != nil {
		return *given, nil
	}
	if w.runTimes == nil {
		return 0, fmt.Errorf("%s_%s over %d points needs %s_run_times in the points, and run_time_bounds_us; %s_%s is only enough for windows of one point", w.arm, what, w.points, w.arm, w.arm, what)
	}
	return bucketQuantile(w.quantile, w.rollout.RunTimeBoundsUs, w.runTimes), nil
}

// bucketQuantile interpolates linearly inside the bucket that contains the quantile, as histogram_quantile of
// Prometheus does (https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile). It returns
// NaN without a run.
func bucketQuantile(quantile float64, bounds, counts []float64) float64 {
	total := 0.0
	for _, count := range counts {
		total += count
	}
	if total <= 0 {
		return math.NaN()
	}
	below, low := 0.0, 0.0
	for i, count := range counts {
		if count > 0 && below+count >= quantile*total {
			return low + (bounds[i]-low)*(quantile*total-below)/count
		}
		below += count
		low = bounds[i]
	}
	return low
}
