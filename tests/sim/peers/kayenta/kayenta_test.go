package kayenta

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"longshore.dev/tests/sim/peers/rollout"
)

func metricOf(label Label, critical bool, groups ...string) judged {
	return judged{classification{label, critical}, groups}
}

func TestScoreIsTheWeightedShareOfPassingMetrics(t *testing.T) {
	for _, one := range []struct {
		name    string
		metrics []judged
		weights map[string]float64
		wanted  float64
	}{
		{"all pass", []judged{metricOf(Pass, false, "a"), metricOf(Pass, false, "b")}, nil, 100},
		{"one of two groups fails", []judged{metricOf(Pass, false, "a"), metricOf(High, false, "b")}, nil, 50},
		{"weights", []judged{metricOf(Pass, false, "a"), metricOf(High, false, "b")}, map[string]float64{"a": 70, "b": 30}, 70},
		{"what is left of 100", []judged{metricOf(Pass, false, "a"), metricOf(High, false, "b"), metricOf(Pass, false, "c")}, map[string]float64{"a": 60}, 80},
		{"two of three in a group", []judged{metricOf(Pass, false, "a"), metricOf(Low, false, "a"), metricOf(Pass, false, "a")}, nil, 66.67},
		{"a critical failure", []judged{metricOf(Pass, false, "a"), metricOf(High, true, "a")}, nil, 0},
		{"a metric without data does not count", []judged{metricOf(Pass, false, "a"), metricOf(Nodata, false, "a"), metricOf(Pass, false, "a")}, nil, 100},
		{"half of the metrics without data", []judged{metricOf(Pass, false, "a"), metricOf(Nodata, false, "a")}, nil, 0},
		{"a metric that must have data", []judged{metricOf(Pass, false, "a"), metricOf(NodataFailMetric, false, "a")}, nil, 50},
		{"a metric in two groups", []judged{metricOf(Pass, false, "a"), metricOf(High, false, "a", "b")}, nil, 25},
		{"an error does not count", []judged{metricOf(Error, false, "a"), metricOf(High, false, "b")}, nil, 50},
		{"a group without data", []judged{metricOf(Nodata, false, "a"), metricOf(High, false, "b"), metricOf(Pass, false, "b")}, nil, 75},
	} {
		if found := score(one.metrics, one.weights); found != one.wanted {
			t.Errorf("%s: %v, wanted %v", one.name, found, one.wanted)
		}
	}
}

func TestScoreIsRoundedToTwoPlaces(t *testing.T) {
	for value, wanted := range map[float64]float64{66.66666666666667: 66.67, 66.665: 66.67, 66.664: 66.66, 50: 50, 99.999: 100, 0.1: 0.1} {
		if found := roundHalfUp(value); found != wanted {
			t.Errorf("%v is rounded to %v, wanted %v", value, found, wanted)
		}
	}
}

// seconds60 returns a rollout with a point per minute. The candidate's share of errors is `before` in the first points,
// and then `after`.
func seconds60(t *testing.T, before, after float64, change, count int) *rollout.Rollout {
	t.Helper()
	random, points := rand.New(rand.NewSource(1)), []string{}
	errors := func(share float64) (count int) {
		for range 1000 {
			if random.Float64() < share {
				count++
			}
		}
		return count
	}
	for i := range count {
		share := before
		if i >= change {
			share = after
		}
		points = append(points, fmt.Sprintf(`{"t":%d,"candidate_requests":1000,"candidate_errors":%d,"stable_requests":1000,"stable_errors":%d}`, 60*(i+1), errors(share), errors(0.1)))
	}
	seen, err := rollout.Parse([]byte(`{"id":1,"interval_seconds":60,"points":[` + strings.Join(points, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func setting(request string) string {
	return `{"name":"x","peer":"kayenta","request":{"step":60,"thresholds":{"marginal":75,"pass":95},` + request + `},
		"metrics":[{"measure":"error_share","metric":{"name":"errors","groups":["errors"],"analysisConfigurations":{"canary":{"direction":"increase"}}}}]}`
}

func expect(t *testing.T, request string, seen *rollout.Rollout, wanted string) {
	t.Helper()
	rule, err := NewRules().New(json.RawMessage(setting(request)))
	if err != nil {
		t.Fatal(err)
	}
	decision, err := rule.Decide(seen)
	if err != nil {
		t.Fatal(err)
	}
	if found := fmt.Sprintf("%s %s at %v s", decision.What, decision.Detail, decision.Seconds); found != wanted {
		t.Errorf("%s: %s, wanted %s", request, found, wanted)
	}
}

func TestCanaryIsJudgedAfterEachInterval(t *testing.T) {
	expect(t, `"lifetimeDurationMins":60,"analysisIntervalMins":20`, seconds60(t, 0.1, 0.1, 0, 60), "promoted score 100 at 3600 s")
	expect(t, `"lifetimeDurationMins":60,"analysisIntervalMins":20`, seconds60(t, 0.2, 0.2, 0, 60), "rolled_back score 0 at 1200 s")
	expect(t, `"lifetimeDurationMins":60`, seconds60(t, 0.2, 0.2, 0, 60), "rolled_back score 0 at 3600 s")
	expect(t, `"lifetimeDurationMins":90,"analysisIntervalMins":20`, seconds60(t, 0.1, 0.1, 0, 60), "nothing score 100 at 3600 s")
}

func TestLookbackForgetsTheBeginning(t *testing.T) {
	late := seconds60(t, 0.1, 0.2, 50, 60)
	expect(t, `"lifetimeDurationMins":60,"analysisIntervalMins":60`, late, "promoted score 100 at 3600 s")
	expect(t, `"lifetimeDurationMins":60,"analysisIntervalMins":60,"lookbackMins":10`, late, "rolled_back score 0 at 3600 s")
}

func TestWarmUpIsNotJudged(t *testing.T) {
	early := seconds60(t, 0.3, 0.1, 20, 60)
	expect(t, `"lifetimeDurationMins":20`, early, "rolled_back score 0 at 1200 s")
	expect(t, `"lifetimeDurationMins":20,"beginAfterMins":20`, early, "promoted score 100 at 2400 s")
}

func TestScoreMustBeAboveMarginalAndTheLastOneMustReachPass(t *testing.T) {
	half := strings.Replace(setting(`"lifetimeDurationMins":60,"analysisIntervalMins":20`), `"metrics":[`,
		`"metrics":[{"measure":"success_percent","metric":{"name":"x","groups":["x"],"analysisConfigurations":{"canary":{"direction":"increase"}}}},`, 1)
	for thresholds, wanted := range map[string]string{
		`"marginal":49,"pass":50`: "promoted",
		`"marginal":49,"pass":51`: "rolled_back",
		`"marginal":50,"pass":50`: "rolled_back",
	} {
		rule, err := NewRules().New(json.RawMessage(strings.Replace(half, `"marginal":75,"pass":95`, thresholds, 1)))
		if err != nil {
			t.Fatal(err)
		}
		decision, err := rule.Decide(seconds60(t, 0.2, 0.2, 0, 60))
		if err != nil {
			t.Fatal(err)
		}
		if decision.What != wanted || decision.Detail != "score 50" {
			t.Errorf("%s: %v, wanted %s", thresholds, decision, wanted)
		}
	}
}

func TestWrongSettingsAreRefusedWithTheReason(t *testing.T) {
	good := setting(`"lifetimeDurationMins":60`)
	for _, one := range []struct{ old, replaced, wanted string }{
		{`"step":60`, `"steps":60`, `unknown field "steps"`},
		{`"step":60`, `"step":0`, "step must be above 0"},
		{`"marginal":75`, `"marginal":96`, "below marginal"},
		{`"increase"`, `"up"`, `direction is "up"`},
		{`error_share`, `errors`, "unknown quantity"},
		{`["errors"]`, `[]`, "groups is empty"},
	} {
		if _, err := NewRules().New(json.RawMessage(strings.Replace(good, one.old, one.replaced, 1))); err == nil || !strings.Contains(err.Error(), one.wanted) {
			t.Errorf("error with %s is %v, wanted %q in it", one.replaced, err, one.wanted)
		}
	}
}
