package argo

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"longshore.dev/tests/sim/peers/rollout"
)

// shares returns a rollout with one point per minute, whose shares of errors are given in percent. A negative share
// means that the candidate had no request in the minute.
func shares(t *testing.T, percents ...int) *rollout.Rollout {
	t.Helper()
	points := []string{}
	for i, percent := range percents {
		requests := 100
		if percent < 0 {
			requests, percent = 0, 0
		}
		points = append(points, fmt.Sprintf(`{"t":%d,"candidate_requests":%d,"candidate_errors":%d,"stable_requests":300,"stable_errors":3}`, 60*(i+1), requests, percent))
	}
	seen, err := rollout.Parse([]byte(`{"id":1,"interval_seconds":60,"points":[` + strings.Join(points, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func setting(metric string) string {
	return `{"name":"x","peer":"argo","metrics":[{"measure":"candidate_error_share","window_seconds":60,"metric":{` + metric + `}}]}`
}

func decide(t *testing.T, setting string, seen *rollout.Rollout) string {
	t.Helper()
	rule, err := NewRules().New(json.RawMessage(setting))
	if err != nil {
		t.Fatal(err)
	}
	decision, err := rule.Decide(seen)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s at %v s", decision.What, decision.Detail, decision.Seconds)
}

func expect(t *testing.T, metric string, seen *rollout.Rollout, wanted string) {
	t.Helper()
	if found := decide(t, setting(metric), seen); found != wanted {
		t.Errorf("{%s}: %s, wanted %s", metric, found, wanted)
	}
}

const below2 = `"successCondition":"result[0] <= 0.02"`

// The documented behaviour: docs/features/analysis.md of Argo Rollouts, sections "Failure Conditions and Failure Limit",
// "ConsecutiveSuccessLimit and FailureLimit", "Inconclusive Runs", "Delay Analysis Runs" and "Handling Metric Results".

func TestOneMeasurementMoreThanTheFailureLimitFails(t *testing.T) {
	seen := shares(t, 1, 5, 1, 5, 1, 5, 1)
	expect(t, below2+`,"interval":"60s","initialDelay":"60s"`, seen, "rolled_back Failed at 120 s")
	expect(t, below2+`,"interval":"60s","initialDelay":"60s","failureLimit":2`, seen, "rolled_back Failed at 360 s")
	expect(t, below2+`,"interval":"60s","initialDelay":"60s","failureLimit":3`, seen, "nothing Running at 420 s")
}

func TestRunSucceedsAtItsCount(t *testing.T) {
	seen := shares(t, 1, 5, 1, 1)
	expect(t, below2+`,"interval":"60s","initialDelay":"60s","failureLimit":1,"count":3`, seen, "promoted Successful at 180 s")
	expect(t, below2+`,"initialDelay":"60s"`, seen, "promoted Successful at 60 s")
}

func TestIntervalIsTheTimeBetweenMeasurements(t *testing.T) {
	seen := shares(t, 1, 5, 1, 5, 1, 5, 1)
	expect(t, below2+`,"interval":"2m","initialDelay":"60s"`, seen, "nothing Running at 420 s")
	expect(t, below2+`,"interval":"2m","initialDelay":"2m"`, seen, "rolled_back Failed at 120 s")
}

func TestFirstMeasurementWithoutDelayHasNoDataAndIsRepeatedAfterTenSeconds(t *testing.T) {
	// Four errors in a row are allowed, and the fifth ends the run: at 0, 10, 20, 30 and 40 s.
	expect(t, below2+`,"interval":"60s"`, shares(t, 1, 1), "rolled_back Error at 40 s")
	expect(t, below2+`,"interval":"60s","consecutiveErrorLimit":6`, shares(t, 1, 1, 5), "rolled_back Failed at 180 s")
	expect(t, `"successCondition":"len(result) == 0 || result[0] <= 0.02","interval":"60s"`, shares(t, 1, 1, 5), "rolled_back Failed at 180 s")
}

func TestMeasurementWithoutRequestsIsNaNWhichFailsUnlessTheConditionAllowsIt(t *testing.T) {
	seen := shares(t, 1, -1, 1)
	expect(t, below2+`,"interval":"60s","initialDelay":"60s"`, seen, "rolled_back Failed at 120 s")
	expect(t, `"successCondition":"len(result) == 0 || isNaN(result[0]) || result[0] <= 0.02","interval":"60s"`, shares(t, -1, 1, -1), "nothing Running at 180 s")
	expect(t, `"successCondition":"isNaN(result[0]) || result[0] <= 0.02","interval":"60s","initialDelay":"60s","count":3`, seen, "promoted Successful at 180 s")
}

func TestResultBetweenBothConditionsIsInconclusive(t *testing.T) {
	both := `"successCondition":"result[0] <= 0.02","failureCondition":"result[0] > 0.04","interval":"60s","initialDelay":"60s"`
	expect(t, both, shares(t, 1, 3, 1), "inconclusive Inconclusive at 120 s")
	expect(t, both+`,"inconclusiveLimit":1`, shares(t, 1, 3, 1, 5), "rolled_back Failed at 240 s")
}

func TestRunSucceedsAfterSuccessesInARow(t *testing.T) {
	metric := below2 + `,"interval":"60s","initialDelay":"60s","consecutiveSuccessLimit":3,"failureLimit":-1`
	expect(t, metric, shares(t, 1, 1, 5, 5, 1, 1, 1), "promoted Successful at 420 s")
	expect(t, below2+`,"interval":"60s","initialDelay":"60s","consecutiveSuccessLimit":3,"failureLimit":2,"count":5`, shares(t, 1, 1, 5, 1, 1), "inconclusive Inconclusive at 300 s")
}

func TestTerminatedRunSucceedsUnlessItFailedBefore(t *testing.T) {
	terminated := strings.Replace(setting(below2+`,"interval":"60s","initialDelay":"60s","failureLimit":3`), `"peer"`, `"terminate_after_seconds":180,"peer"`, 1)
	if found := decide(t, terminated, shares(t, 5, 5, 5, 5, 5)); found != "promoted Successful at 180 s" {
		t.Error(found)
	}
	if found := decide(t, strings.Replace(terminated, `180`, `300`, 1), shares(t, 5, 5, 5, 5, 5)); found != "rolled_back Failed at 240 s" {
		t.Error(found)
	}
}

func TestWorstOfSeveralMetricsDecides(t *testing.T) {
	two := `{"name":"x","peer":"argo","metrics":[
		{"measure":"candidate_error_share","metric":{"name":"a","interval":"60s","initialDelay":"60s","successCondition":"result[0] <= 0.5"}},
		{"measure":"error_share_ratio","metric":{"name":"b","interval":"120s","initialDelay":"120s","successCondition":"result[0] <= 4"}}]}`
	if found := decide(t, two, shares(t, 1, 1, 9, 9, 1)); found != "rolled_back Failed at 240 s" {
		t.Error(found)
	}
}

func TestWrongSettingsAreRefusedWithTheReason(t *testing.T) {
	for text, wanted := range map[string]string{
		setting(`"interval":"60s","colour":1`):                                                                 `unknown field "colour"`,
		setting(below2 + `,"interval":"1 minute"`):                                                             "Argo refuses the metrics",
		setting(below2 + `,"interval":"60s","count":1,"failureLimit":5`):                                       "Argo refuses the metrics",
		setting(`"successCondition":"result[0] <=","interval":"60s"`):                                          "Argo cannot evaluate",
		setting(below2 + `,"interval":"60s","provider":{"web":{}}`):                                            "provider must be absent",
		`{"name":"x","peer":"argo","metrics":[]}`:                                                              "no metrics",
		`{"name":"x","peer":"argo","metrics":[{"measure":"x","metric":{}}]}`:                                   "unknown measure",
		`{"name":"x","peer":"argo","metrics":[{"measure":"candidate_error_share","metric":{` + below2 + `}}]}`: "window_seconds is missing",
	} {
		if _, err := NewRules().New(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("error of %s is %v, wanted %q in it", text, err, wanted)
		}
	}
}

// randomMetric draws all fields that change a decision.
func randomMetric(random *rand.Rand) string {
	text := fmt.Sprintf(`"interval":"%ds","initialDelay":"%ds"`, 30*(1+random.Intn(4)), 30*random.Intn(4))
	limit, failures, successes := 0.01*float64(2+random.Intn(6)), random.Intn(8), 0
	text += fmt.Sprintf(`,"successCondition":"%sresult[0] <= %v"`, []string{"", "isNaN(result[0]) || ", "len(result) == 0 || isNaN(result[0]) || "}[random.Intn(3)], limit)
	if random.Intn(2) == 0 {
		text += fmt.Sprintf(`,"failureCondition":"result[0] > %v","inconclusiveLimit":%d`, limit+0.02, random.Intn(3))
	}
	if random.Intn(2) == 0 {
		successes = 2 + random.Intn(3)
		text += fmt.Sprintf(`,"consecutiveSuccessLimit":%d`, successes)
	}
	if random.Intn(2) == 0 {
		text += fmt.Sprintf(`,"count":%d`, failures+successes+2+random.Intn(5))
	}
	return text + fmt.Sprintf(`,"failureLimit":%d,"consecutiveErrorLimit":%d`, failures, 1+random.Intn(8))
}

func TestRememberedTransitionsDecideAsArgoCalledForEveryMeasurement(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	rules, decisions := NewRules(), map[string]int{}
	for i := range 400 {
		text := setting(randomMetric(random))
		if random.Intn(3) == 0 {
			text = strings.Replace(text, `"peer"`, `"terminate_after_seconds":600,"peer"`, 1)
		}
		rule, err := rules.New(json.RawMessage(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		percents := make([]int, 16)
		for k := range percents {
			percents[k] = random.Intn(8) - 1
		}
		seen := shares(t, percents...)
		series, err := rule.series(seen)
		if err != nil {
			t.Fatal(err)
		}
		direct, err := rule.decideDirectly(seen, series)
		if err != nil {
			t.Fatal(err)
		}
		remembered, err := rule.decideByMachine(seen, series[0])
		if err != nil {
			t.Fatal(err)
		}
		if direct != remembered {
			t.Errorf("case %d, %s, %v: Argo decides %v, the remembered transitions %v", i, text, percents, direct, remembered)
		}
		decisions[direct.Detail]++
	}
	for _, detail := range []string{"Failed", "Successful", "Inconclusive", "Error", "Running"} {
		if decisions[detail] < 5 {
			t.Errorf("only %d cases end with %s: %v", decisions[detail], detail, decisions)
		}
	}
}
