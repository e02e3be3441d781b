package flagger

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	flaggerv1 "github.com/fluxcd/flagger/pkg/apis/flagger/v1beta1"

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
		points = append(points, fmt.Sprintf(`{"t":%d,"candidate_requests":%d,"candidate_errors":%d,"candidate_p99_us":%d,"stable_requests":300,"stable_errors":3}`, 60*(i+1), requests, percent, 1000*percent))
	}
	seen, err := rollout.Parse([]byte(`{"id":1,"interval_seconds":60,"points":[` + strings.Join(points, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func setting(analysis, metrics string) string {
	return `{"name":"x","peer":"flagger","analysis":{"interval":"1m",` + analysis + `},"metrics":[` + metrics + `]}`
}

const (
	success99 = `{"metric":{"name":"request-success-rate","interval":"1m","thresholdRange":{"min":99}}}`
	share2    = `{"measure":"candidate_error_share","metric":{"name":"errors","interval":"1m","thresholdRange":{"max":0.02}}}`
)

func expect(t *testing.T, text string, seen *rollout.Rollout, wanted string) {
	t.Helper()
	rule, err := NewRules().New(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	decision, err := rule.Decide(seen)
	if err != nil {
		t.Fatal(err)
	}
	if found := fmt.Sprintf("%s %s at %v s", decision.What, decision.Detail, decision.Seconds); found != wanted {
		t.Errorf("%s: %s, wanted %s", text, found, wanted)
	}
}

// The documented behaviour: docs/gitbook/usage/deployment-strategies.md of Flagger gives interval * threshold as the
// time until a rollback, and interval * (maxWeight / stepWeight) as the minimum time until the promotion.

func TestCanaryIsRolledBackInTheLoopAfterItsThresholdOfFailedChecks(t *testing.T) {
	steps := `"threshold":3,"stepWeight":10,"maxWeight":50`
	expect(t, setting(steps, success99), shares(t, 5, 5, 5, 1, 1), "rolled_back Failed at 240 s")
	expect(t, setting(steps, success99), shares(t, 5, 1, 5, 1, 5, 1, 1), "rolled_back Failed at 360 s")
	expect(t, setting(steps, success99), shares(t, 5, 5, 5), "nothing Progressing at 180 s")
}

func TestCanaryIsPromotedAfterItsLastWeight(t *testing.T) {
	expect(t, setting(`"threshold":3,"stepWeight":10,"maxWeight":50`, success99), shares(t, 1, 1, 1, 1, 1, 1), "promoted Promoting at 300 s")
	expect(t, setting(`"threshold":3,"stepWeight":10,"maxWeight":50`, success99), shares(t, 1, 5, 1, 5, 1, 1, 1, 1), "promoted Promoting at 420 s")
	expect(t, setting(`"threshold":3,"stepWeights":[1,5,80]`, success99), shares(t, 1, 1, 1, 1), "promoted Promoting at 180 s")
}

func TestBlueGreenIsPromotedAfterItsIterations(t *testing.T) {
	expect(t, setting(`"threshold":3,"iterations":4`, success99), shares(t, 1, 1, 1, 1, 1, 1), "promoted Promoting at 300 s")
}

func TestLoopRunsAtTheIntervalOfTheAnalysis(t *testing.T) {
	text := strings.Replace(setting(`"threshold":1,"stepWeight":10,"maxWeight":50`, success99), `"interval":"1m"`, `"interval":"2m"`, 1)
	expect(t, text, shares(t, 5, 1, 5, 1, 1, 5, 1, 1, 1, 1), "rolled_back Failed at 480 s")
}

func TestCheckWithoutRequestsFails(t *testing.T) {
	expect(t, setting(`"threshold":2,"stepWeight":10,"maxWeight":50`, success99), shares(t, -1, 1, -1, 1, 1), "rolled_back Failed at 240 s")
	expect(t, setting(`"threshold":2,"stepWeight":10,"maxWeight":50`, share2), shares(t, -1, 1, -1, 1, 1), "rolled_back Failed at 240 s")
}

func TestEveryMetricMustPass(t *testing.T) {
	duration := `{"metric":{"name":"request-duration","interval":"1m","thresholdRange":{"max":4}}}`
	expect(t, setting(`"threshold":1,"stepWeight":10,"maxWeight":20`, share2+","+duration), shares(t, 2, 2, 2), "promoted Promoting at 120 s")
	expect(t, setting(`"threshold":1,"stepWeight":10,"maxWeight":20`, duration), shares(t, 4, 5, 5), "rolled_back Failed at 180 s")
	expect(t, setting(`"threshold":1,"stepWeight":10,"maxWeight":20`, duration+","+share2), shares(t, 3, 3, 3), "rolled_back Failed at 120 s")
}

func TestWrongSettingsAreRefusedWithTheReason(t *testing.T) {
	steps := `"threshold":1,"stepWeight":10`
	for text, wanted := range map[string]string{
		setting(steps+`,"colour":1`, share2): `unknown field "colour"`,
		setting(steps, ``):                   "there are 0 metrics",
		setting(steps+`,"metrics":[{"name":"request-success-rate","thresholdRange":{"min":99}}]`, share2):       "analysis must have no metrics",
		setting(steps, strings.Replace(success99, `"metric"`, `"measure":"candidate_error_share","metric"`, 1)): "measure must be absent",
		setting(steps, strings.Replace(share2, `candidate_error_share`, `errors`, 1)):                           "unknown measure",
		setting(steps, strings.Replace(share2, `"1m"`, `"1 minute"`, 1)):                                        "is not a duration",
		setting(steps, strings.Replace(share2, `"interval"`, `"query":"x","interval"`, 1)):                      "query and templateRef must be absent",
	} {
		if _, err := NewRules().New(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("error of %s is %v, wanted %q in it", text, err, wanted)
		}
	}
}

func TestRememberedChecksAnswerAsFlagger(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	rules := NewRules()
	for _, name := range []string{successMetric, durationMetric, "errors"} {
		for range 20 {
			low := math.Floor(100*random.Float64()) / 2
			high := low + math.Floor(50*random.Float64())
			metric := flaggerv1.CanaryMetric{Name: name, Interval: "1m", ThresholdRange: &flaggerv1.CanaryThresholdRange{}}
			if random.Intn(3) > 0 {
				metric.ThresholdRange.Min = &low
			}
			if random.Intn(3) > 0 {
				metric.ThresholdRange.Max = &high
			}
			remembered, err := rules.checkOf(metric)
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range []float64{low, math.Nextafter(low, -1), high, math.Nextafter(high, 1e9), high + 0.5, high + 1, math.NaN(), math.Inf(1), 100 * random.Float64(), 100 * random.Float64()} {
				given := rollout.Value{Value: value, Exists: true}
				passes, err := remembered.of(given)
				if err != nil {
					t.Fatal(err)
				}
				if wanted := remembered.ask(given); passes != wanted {
					t.Errorf("%s in %v to %v: %v passes: %v, Flagger says %v", name, metric.ThresholdRange.Min, metric.ThresholdRange.Max, value, passes, wanted)
				}
			}
		}
	}
}

func randomAnalysis(random *rand.Rand) string {
	text := fmt.Sprintf(`"threshold":%d`, random.Intn(8))
	switch random.Intn(3) {
	case 0:
		return text + fmt.Sprintf(`,"iterations":%d`, 1+random.Intn(5))
	case 1:
		return text + `,"stepWeights":[1,2,10,60]`
	default:
		return text + fmt.Sprintf(`,"stepWeight":%d,"maxWeight":%d`, 5+random.Intn(20), 20+random.Intn(60))
	}
}

func TestRememberedTransitionsDecideAsFlaggerCalledForEveryInterval(t *testing.T) {
	random := rand.New(rand.NewSource(4))
	rules, decisions := NewRules(), map[string]int{}
	for i := range 120 {
		text := setting(randomAnalysis(random), []string{success99, share2, share2 + "," + success99}[random.Intn(3)])
		rule, err := rules.New(json.RawMessage(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		percents := make([]int, 8)
		for k := range percents {
			percents[k] = random.Intn(5) - 1
		}
		seen := shares(t, percents...)
		direct, err := rule.decideDirectly(seen)
		if err != nil {
			t.Fatal(err)
		}
		remembered, err := rule.Decide(seen)
		if err != nil {
			t.Fatal(err)
		}
		if direct != remembered {
			t.Errorf("case %d, %s, %v: Flagger decides %v, the remembered transitions %v", i, text, percents, direct, remembered)
		}
		decisions[direct.What]++
	}
	for _, what := range []string{rollout.RolledBack, rollout.Promoted, rollout.Nothing} {
		if decisions[what] < 5 {
			t.Errorf("only %d cases end with %s: %v", decisions[what], what, decisions)
		}
	}
}
