// Package kayenta judges rollouts by a port of Kayenta's judge, NetflixACAJudge-v1.0. Kayenta publishes no artifact that
// could be called instead.
package kayenta

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"longshore.dev/tests/sim/peers/rollout"
)

// Commit is the commit of github.com/spinnaker/kayenta that this package follows.
const Commit = "a69573be9d8fededacf80817e4151a2c8df41276"

// Setting is a canary config, and the part of a request for a canary analysis that decides when what is judged.
type Setting struct {
	Name    string          `json:"name"`
	Peer    string          `json:"peer"`
	Request Request         `json:"request"`
	Metrics []MetricSetting `json:"metrics"`
	// GroupWeights is classifier.groupWeights of the canary config.
	GroupWeights map[string]float64 `json:"groupWeights"`
}

// Request has the fields of Kayenta's standalone canary analysis. Kayenta takes whole minutes; here fractions are
// allowed, too.
type Request struct {
	LifetimeDurationMins float64    `json:"lifetimeDurationMins"`
	BeginAfterMins       float64    `json:"beginAfterMins"`
	AnalysisIntervalMins float64    `json:"analysisIntervalMins"`
	LookbackMins         float64    `json:"lookbackMins"`
	Step                 float64    `json:"step"` // Seconds between the values of a metric.
	Thresholds           Thresholds `json:"thresholds"`
}

// Thresholds are scores.
type Thresholds struct {
	Marginal float64 `json:"marginal"`
	Pass     float64 `json:"pass"`
}

// MetricSetting is a metric of the canary config, and the measure that its query returns for each arm.
type MetricSetting struct {
	Measure string `json:"measure"`
	Metric  Metric `json:"metric"`
}

// Metric is a metric of a canary config without its query.
type Metric struct {
	Name                   string   `json:"name"`
	Groups                 []string `json:"groups"`
	AnalysisConfigurations struct {
		Canary Canary `json:"canary"`
	} `json:"analysisConfigurations"`
}

// Rules makes rules that share the comparisons of a rollout.
type Rules struct {
	rollout     *rollout.Rollout
	comparisons map[comparisonKey]*comparison
}

type comparisonKey struct {
	measure  string
	step     int // Points.
	from, to int // Points.
	cleaning cleaning
}

// NewRules returns Rules.
func NewRules() *Rules { return &Rules{comparisons: map[comparisonKey]*comparison{}} }

// Rule is one setting.
type Rule struct {
	rules   *Rules
	setting Setting
}

// New reads a setting.
func (r *Rules) New(text json.RawMessage) (*Rule, error) {
	rule := &Rule{rules: r}
	if err := rollout.Decode(text, &rule.setting); err != nil {
		return nil, err
	}
	if len(rule.setting.Metrics) == 0 {
		return nil, fmt.Errorf("metrics is empty or missing")
	}
	for i, metric := range rule.setting.Metrics {
		if err := checkMetric(metric); err != nil {
			return nil, fmt.Errorf("metrics[%d]: %w", i, err)
		}
	}
	request := &rule.setting.Request
	if !(request.LifetimeDurationMins > 0) || !(request.Step > 0) || !(request.BeginAfterMins >= 0) || !(request.LookbackMins >= 0) {
		return nil, fmt.Errorf("request: lifetimeDurationMins and step must be above 0, beginAfterMins and lookbackMins must not be below 0")
	}
	if request.Thresholds.Pass < request.Thresholds.Marginal {
		return nil, fmt.Errorf("request.thresholds: pass is %v, which is below marginal, %v", request.Thresholds.Pass, request.Thresholds.Marginal)
	}
	if request.AnalysisIntervalMins <= 0 || request.AnalysisIntervalMins > request.LifetimeDurationMins {
		request.AnalysisIntervalMins = request.LifetimeDurationMins // As Kayenta does.
	}
	return rule, nil
}

func checkMetric(metric MetricSetting) error {
	if _, err := rollout.Of(rollout.Candidate, metric.Measure); err != nil {
		return err
	}
	canary := metric.Metric.AnalysisConfigurations.Canary
	for _, field := range []struct {
		name, value string
		known       []string
	}{
		{"direction", canary.Direction, []string{"", "increase", "decrease", "either"}},
		{"nanStrategy", canary.NaNStrategy, []string{"", "remove", "replace"}},
		{"effectSize.measure", canary.EffectSize.Measure, []string{"", "meanRatio", "cles"}},
		{"outliers.strategy", canary.Outliers.Strategy, []string{"", "keep", "remove"}},
	} {
		if !contains(field.known, field.value) {
			return fmt.Errorf("%s is %q; it must be one of %q", field.name, field.value, field.known)
		}
	}
	if len(metric.Metric.Groups) == 0 {
		return fmt.Errorf("groups is empty or missing")
	}
	return nil
}

func contains(known []string, value string) bool {
	for _, one := range known {
		if one == value {
			return true
		}
	}
	return false
}

// Decide judges a rollout after each analysis interval. It follows SetupAndExecuteCanariesStage, MonitorCanaryTask and
// GenerateCanaryAnalysisResultTask in kayenta-standalone-canary-analysis: a score that is not above `marginal` ends the
// analysis, and the last score must reach `pass`.
func (rule *Rule) Decide(seen *rollout.Rollout) (rollout.Decision, error) {
	request := rule.setting.Request
	judgements := int(math.Floor(request.LifetimeDurationMins/request.AnalysisIntervalMins + 1e-9))
	detail := "no score"
	for i := 1; i <= judgements; i++ {
		end := 60 * (request.BeginAfterMins + float64(i)*request.AnalysisIntervalMins)
		if end > seen.EndSeconds()+1e-6 {
			break
		}
		begin := 60 * request.BeginAfterMins
		if request.LookbackMins > 0 {
			begin = end - 60*request.LookbackMins
		}
		score, err := rule.judge(seen, begin, end)
		if err != nil {
			return rollout.Decision{}, err
		}
		detail = "score " + strconv.FormatFloat(score, 'f', -1, 64)
		if score <= request.Thresholds.Marginal || (i == judgements && score < request.Thresholds.Pass) {
			return seen.At(rollout.RolledBack, end, detail), nil
		}
		if i == judgements {
			return seen.At(rollout.Promoted, end, detail), nil
		}
	}
	return seen.Ended(detail), nil
}

// judge returns the score of the time from `begin` to `end`, in seconds.
func (rule *Rule) judge(seen *rollout.Rollout, begin, end float64) (float64, error) {
	step, err := seen.DurationPoints("step", rule.setting.Request.Step)
	if err != nil {
		return 0, err
	}
	metrics := make([]judged, 0, len(rule.setting.Metrics))
	for i := range rule.setting.Metrics {
		one := &rule.setting.Metrics[i]
		config := &one.Metric.AnalysisConfigurations.Canary
		if config.Muted {
			continue
		}
		compared, err := rule.rules.compare(seen, comparisonKey{
			measure: one.Measure, step: step, from: seen.PointsUntil(begin), to: seen.PointsUntil(end), cleaning: config.cleaning(),
		})
		if err != nil {
			return 0, fmt.Errorf("metrics[%d]: %w", i, err)
		}
		metrics = append(metrics, judged{classify(compared, config, judgeLevels), one.Metric.Groups})
	}
	return score(metrics, rule.setting.GroupWeights), nil
}

// compare returns the comparison of both arms, which settings share.
func (r *Rules) compare(seen *rollout.Rollout, key comparisonKey) (*comparison, error) {
	if r.rollout != seen {
		r.rollout = seen
		clear(r.comparisons)
	}
	if found, ok := r.comparisons[key]; ok {
		return found, nil
	}
	experiment, err := sample(seen, rollout.Candidate, key)
	if err != nil {
		return nil, err
	}
	control, err := sample(seen, rollout.Stable, key)
	if err != nil {
		return nil, err
	}
	made := newComparison(samples{key.cleaning.clean(experiment), key.cleaning.clean(control)}, judgeLevels.confidence)
	r.comparisons[key] = made
	return made, nil
}

// sample returns one value for each whole step.
func sample(seen *rollout.Rollout, arm rollout.Arm, key comparisonKey) ([]float64, error) {
	measure, err := rollout.Of(arm, key.measure)
	if err != nil {
		return nil, err
	}
	series, err := seen.Series(measure, key.step)
	if err != nil {
		return nil, err
	}
	values := make([]float64, 0, (key.to-key.from)/key.step)
	for end := key.from + key.step; end <= key.to; end += key.step {
		values = append(values, series[end].Value)
	}
	return values, nil
}
