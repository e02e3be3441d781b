package rollout

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func point(t, requests, errors float64) string {
	return fmt.Sprintf(`{"t":%v,"candidate_requests":%v,"candidate_errors":%v,"stable_requests":%v,"stable_errors":1}`, t, requests, errors, 3*requests+1)
}

func parse(t *testing.T, points ...string) *Rollout {
	t.Helper()
	seen, err := Parse([]byte(`{"id":1,"interval_seconds":10,"points":[` + strings.Join(points, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func series(t *testing.T, seen *Rollout, name string, points int) Series {
	t.Helper()
	measure, err := ParseMeasure(name)
	if err != nil {
		t.Fatal(err)
	}
	values, err := seen.Series(measure, points)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func expectValue(t *testing.T, value Value, wanted float64) {
	t.Helper()
	if !value.Exists || math.Abs(value.Value-wanted) > 1e-12 {
		t.Errorf("value is %v, wanted %v", value, wanted)
	}
}

func TestMeasureIsTakenOverTheWholeWindow(t *testing.T) {
	seen := parse(t, point(10, 10, 1), point(20, 30, 5), point(30, 10, 0))
	shares := series(t, seen, "candidate_error_share", 2)
	expectValue(t, shares[1], 0.1)
	expectValue(t, shares[2], 0.15)
	expectValue(t, shares[3], 0.125)
	expectValue(t, series(t, seen, "candidate_success_percent", 1)[3], 100)
	expectValue(t, series(t, seen, "error_share_ratio", 1)[1], 0.1*31)
	expectValue(t, series(t, seen, "error_share_difference", 1)[1], 0.1-1.0/31)
}

func TestMeasureByPastIsDividedByWhatStableWasBefore(t *testing.T) {
	seen, err := Parse([]byte(`{"id":1,"interval_seconds":10,"stable_past":{"error_share":0.02},"points":[` + point(10, 10, 1) + `,` + point(20, 0, 0) + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	shares := series(t, seen, "candidate_error_share_by_past", 1)
	expectValue(t, shares[1], 0.1/0.02)
	if shares[0].Exists || !shares[2].Exists || !math.IsNaN(shares[2].Value) {
		t.Errorf("values without requests are %v and %v, as without the past", shares[0], shares[2])
	}
	expectValue(t, series(t, seen, "error_share_difference_by_past", 1)[1], (0.1-1.0/31)/0.02)
	measure, _ := ParseMeasure("candidate_success_percent_by_past")
	if _, err := seen.Series(measure, 1); err == nil || !strings.Contains(err.Error(), "stable_past.success_percent is missing") {
		t.Errorf("the error without the past is %v", err)
	}
}

func TestMeasureDoesNotExistBeforeTheFirstRequestAndIsNaNInALaterEmptyWindow(t *testing.T) {
	seen := parse(t, point(10, 0, 0), point(20, 5, 1), point(30, 0, 0))
	shares := series(t, seen, "candidate_error_share", 1)
	if shares[0].Exists || shares[1].Exists {
		t.Errorf("values without any request: %v", shares[:2])
	}
	expectValue(t, shares[2], 0.2)
	if !shares[3].Exists || !math.IsNaN(shares[3].Value) {
		t.Errorf("value of an empty window is %v, wanted NaN", shares[3])
	}
}

func TestQuantileOfOnePointIsTheGivenOne(t *testing.T) {
	seen := parse(t, `{"t":10,"candidate_requests":1,"candidate_p99_us":500}`)
	expectValue(t, series(t, seen, "candidate_p99_us", 1)[1], 500)
	measure, _ := ParseMeasure("candidate_p99_us")
	if _, err := seen.Series(measure, 2); err == nil || !strings.Contains(err.Error(), "candidate_run_times") {
		t.Errorf("a quantile over two points needs buckets; the error is %v", err)
	}
}

func TestQuantileOfAWindowIsInterpolatedInItsBucket(t *testing.T) {
	seen, err := Parse([]byte(`{"id":1,"interval_seconds":10,"run_time_bounds_us":[100,200,400],"points":[
		{"t":10,"candidate_requests":10,"candidate_run_times":[10,0,0]},
		{"t":20,"candidate_requests":10,"candidate_run_times":[0,0,10]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	expectValue(t, series(t, seen, "candidate_p50_us", 1)[1], 50)
	expectValue(t, series(t, seen, "candidate_p50_us", 1)[2], 300)
	expectValue(t, series(t, seen, "candidate_p90_us", 2)[2], 200+200*0.8)
}

func TestDecisionNamesTheLastPointAndTheRequestsUntilThen(t *testing.T) {
	seen := parse(t, point(10, 10, 1), point(20, 30, 5), point(30, 10, 0))
	wanted := `{"setting":"x","decision":"rolled_back","point":1,"seconds":25,"candidate_requests":40,"detail":"Failed"}`
	if text := string(seen.At(RolledBack, 25, "Failed").AppendJSON(nil, Quote("x"))); text != wanted {
		t.Errorf("decision is %s, wanted %s", text, wanted)
	}
	if text := string(seen.At(RolledBack, 5, "Error").AppendJSON(nil, Quote("x"))); !strings.Contains(text, `"point":null,"seconds":5,"candidate_requests":0`) {
		t.Errorf("decision before the first point is %s", text)
	}
}

func TestWrongLinesNameTheField(t *testing.T) {
	for line, wanted := range map[string]string{
		``:                              "the line is empty",
		`{"id":1}x`:                     "after the JSON object",
		`{"id":1,"interval":1}`:         `unknown field "interval"`,
		`{"interval_seconds":1}`:        "id is missing",
		`{"id":1,"points":[{"t":1}]}`:   "interval_seconds is 0",
		`{"id":1,"interval_seconds":1}`: "points is empty",
		`{"id":1,"interval_seconds":1,"stable_past":{"p99_us":0},"points":[{"t":1}]}`:                        "stable_past.p99_us is 0",
		`{"id":1,"interval_seconds":1,"stable_past":{"p95_us":1},"points":[{"t":1}]}`:                        "stable_past.p95_us is 1",
		`{"id":1,"interval_seconds":1,"points":[{"t":2}]}`:                                                   "points[0].t is 2",
		`{"id":1,"interval_seconds":1,"points":[{"t":1,"candidate_requests":1,"candidate_errors":2}]}`:       "candidate_errors is 2",
		`{"id":1,"interval_seconds":1,"points":[{"t":1,"stable_requests":-1}]}`:                              "stable_requests is -1",
		`{"id":1,"interval_seconds":1,"points":[{"t":1,"stable_run_times":[1]}]}`:                            "stable_run_times has 1 counts",
		`{"id":1,"interval_seconds":1,"run_time_bounds_us":[2,1],"points":[{"t":1,"stable_run_times":[1]}]}`: "run_time_bounds_us[1] is 1",
	} {
		if _, err := Parse([]byte(line)); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("error of %s is %v, wanted %q in it", line, err, wanted)
		}
	}
}

func TestUnknownMeasuresAreRefused(t *testing.T) {
	for _, name := range []string{"", "error_share", "candidate_", "candidate_p95_us", "p99_us_sum", "p99_us_by_past"} {
		if _, err := ParseMeasure(name); err == nil {
			t.Errorf("measure %q is accepted", name)
		}
	}
}

func TestDurationMustBeAMultipleOfTheInterval(t *testing.T) {
	seen := parse(t, point(10, 1, 0))
	if points, err := seen.DurationPoints("a window", 30); err != nil || points != 3 {
		t.Errorf("30 s are %v points, %v", points, err)
	}
	if _, err := seen.DurationPoints("a window", 15); err == nil {
		t.Error("15 s are accepted with an interval of 10 s")
	}
}
