// Package flagger judges rollouts by the control loop of Flagger. The code of its Go module checks the metrics and
// advances the canary; this package gives it a cluster in memory, and remembers what it answered.
package flagger

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	flaggerv1 "github.com/fluxcd/flagger/pkg/apis/flagger/v1beta1"

	"longshore.dev/tests/sim/peers/answers"
	"longshore.dev/tests/sim/peers/rollout"
)

// The two metrics that Flagger knows without a template.
const (
	successMetric  = "request-success-rate"
	durationMetric = "request-duration"
)

func isBuiltin(name string) bool { return name == successMetric || name == durationMetric }

// Setting is the analysis of a Canary without its metrics, which are beside it.
type Setting struct {
	Name     string                   `json:"name"`
	Peer     string                   `json:"peer"`
	Analysis flaggerv1.CanaryAnalysis `json:"analysis"`
	Metrics  []MetricSetting          `json:"metrics"`
}

// MetricSetting is a metric, and the measure that its template queries. The metrics that Flagger knows without a
// template have no measure.
type MetricSetting struct {
	Measure string                 `json:"measure"`
	Metric  flaggerv1.CanaryMetric `json:"metric"`
}

// Rules makes rules that share Flagger's controller and what it answered.
type Rules struct {
	cluster  *cluster
	machines map[string]*machine
	checks   map[string]*check
}

// NewRules returns Rules.
func NewRules() *Rules {
	return &Rules{theCluster(), map[string]*machine{}, map[string]*check{}}
}

// Rule is one setting.
type Rule struct {
	rules    *Rules
	analysis flaggerv1.CanaryAnalysis
	interval time.Duration
	metrics  []oneMetric
	machine  *machine
}

type oneMetric struct {
	measure rollout.Measure
	scale   float64 // The value of Flagger's query divided by the measure.
	window  time.Duration
	query   string
	theirs  flaggerv1.CanaryMetric
	check   *check
}

// New reads a setting.
func (r *Rules) New(text json.RawMessage) (*Rule, error) {
	setting := Setting{}
	if err := rollout.Decode(text, &setting); err != nil {
		return nil, err
	}
	if len(setting.Analysis.Metrics) != 0 || len(setting.Analysis.Webhooks) != 0 || len(setting.Analysis.Alerts) != 0 {
		return nil, fmt.Errorf("analysis must have no metrics, which are beside it, no webhooks and no alerts")
	}
	if len(setting.Metrics) == 0 || len(setting.Metrics) > metricsMax {
		return nil, fmt.Errorf("there are %d metrics; there must be 1 to %d", len(setting.Metrics), metricsMax)
	}
	rule := &Rule{rules: r, analysis: setting.Analysis, interval: newCanary(setting.Analysis).GetAnalysisInterval()}
	for i, one := range setting.Metrics {
		made, err := r.newMetric(i, one)
		if err != nil {
			return nil, fmt.Errorf("metrics[%d]: %w", i, err)
		}
		rule.metrics = append(rule.metrics, made)
	}
	machine, err := r.machineOf(setting.Analysis)
	rule.machine = machine
	return rule, err
}

func (r *Rules) newMetric(i int, setting MetricSetting) (oneMetric, error) {
	made := oneMetric{theirs: setting.Metric, scale: 1, query: setting.Metric.Name}
	if made.theirs.Query != "" || made.theirs.TemplateRef != nil {
		return oneMetric{}, fmt.Errorf("query and templateRef must be absent: the measure takes their place")
	}
	name := setting.Measure
	if isBuiltin(made.theirs.Name) {
		if name != "" {
			return oneMetric{}, fmt.Errorf("measure must be absent, because Flagger has its own query for %s", made.theirs.Name)
		}
		name = "candidate_success_percent"
		if made.theirs.Name == durationMetric {
			name, made.scale = "candidate_p99_us", 1e-3 // Flagger reads milliseconds.
		}
	} else {
		made.query = queryOf(i)
		made.theirs.TemplateRef = &flaggerv1.CrossNamespaceObjectReference{Name: made.query}
	}
	var err error
	if made.measure, err = rollout.ParseMeasure(name); err != nil {
		return oneMetric{}, err
	}
	interval := made.theirs.Interval
	if interval == "" {
		interval = (&flaggerv1.Canary{}).GetMetricInterval()
	}
	if made.window, err = time.ParseDuration(interval); err != nil {
		return oneMetric{}, fmt.Errorf("interval %q is not a duration: %w", interval, err)
	}
	made.check, err = r.checkOf(made.theirs)
	return made, err
}

// check remembers which values of a metric pass.
type check struct {
	known   *answers.Answers[result]
	missing *bool // For a query without a result.
	ask     func(value rollout.Value) bool
}

// result of a check. Values that fail below a range and values that fail above it have different results, so that each
// result holds for one interval.
type result struct{ passes, above bool }

// middle returns a number inside the range of a metric; infinity if it has only one limit.
func middle(metric flaggerv1.CanaryMetric) float64 {
	limits := metric.ThresholdRange
	if limits == nil || limits.Min == nil || limits.Max == nil {
		return math.Inf(1)
	}
	return (*limits.Min + *limits.Max) / 2
}

func (r *Rules) checkOf(metric flaggerv1.CanaryMetric) (*check, error) {
	query := metric.Name
	if !isBuiltin(metric.Name) {
		query = queryOf(0)
		metric.Name = "metric"
		metric.TemplateRef = &flaggerv1.CrossNamespaceObjectReference{Name: query}
	}
	key, err := json.Marshal(metric)
	if err != nil {
		return nil, err
	}
	if found, ok := r.checks[string(key)]; ok {
		return found, nil
	}
	made := &check{ask: func(value rollout.Value) bool { return r.cluster.passes(metric, query, value) }}
	made.known = answers.New(answers.Convex, func(value float64) (result, error) {
		passes := made.ask(rollout.Value{Value: value, Exists: true})
		return result{passes, !passes && value > middle(metric)}, nil
	})
	r.checks[string(key)] = made
	return made, nil
}

func (c *check) of(value rollout.Value) (bool, error) {
	if value.Exists {
		known, err := c.known.Of(value.Value)
		return known.passes, err
	}
	if c.missing == nil {
		passes := c.ask(value)
		c.missing = &passes
	}
	return *c.missing, nil
}

// decision translates the phase of a canary. Flagger decides for the promotion when it begins to copy the candidate
// over the primary.
func decision(phase flaggerv1.CanaryPhase) string {
	switch phase {
	case flaggerv1.CanaryPhaseFailed:
		return rollout.RolledBack
	case flaggerv1.CanaryPhasePromoting, flaggerv1.CanaryPhaseFinalising, flaggerv1.CanaryPhaseSucceeded:
		return rollout.Promoted
	default:
		return rollout.Nothing
	}
}

// Decide runs the analysis on a rollout.
func (rule *Rule) Decide(seen *rollout.Rollout) (rollout.Decision, error) {
	series, err := rule.series(seen)
	if err != nil {
		return rollout.Decision{}, err
	}
	at, end := rule.machine.root, time.Duration(seen.EndSeconds()*float64(time.Second))
	for now := rule.interval; now <= end; now += rule.interval {
		passes, err := rule.passes(series, seen.PointsUntil(now.Seconds()))
		if err != nil {
			return rollout.Decision{}, err
		}
		if at, err = rule.machine.next(at, passes); err != nil {
			return rollout.Decision{}, err
		}
		if at.decision != rollout.Nothing {
			return seen.At(at.decision, now.Seconds(), string(at.canary.Status.Phase)), nil
		}
	}
	return seen.Ended(string(at.canary.Status.Phase)), nil
}

func (rule *Rule) series(seen *rollout.Rollout) ([]rollout.Series, error) {
	all := make([]rollout.Series, len(rule.metrics))
	for i, metric := range rule.metrics {
		points, err := seen.DurationPoints("interval", metric.window.Seconds())
		if err != nil {
			return nil, fmt.Errorf("metrics[%d]: %w", i, err)
		}
		if all[i], err = seen.Series(metric.measure, points); err != nil {
			return nil, fmt.Errorf("metrics[%d]: %w", i, err)
		}
	}
	return all, nil
}

// passes reports whether all metrics pass, as runAnalysis of Flagger does.
func (rule *Rule) passes(series []rollout.Series, points int) (bool, error) {
	for i := range rule.metrics {
		value := series[i][points]
		value.Value *= rule.metrics[i].scale
		passes, err := rule.metrics[i].check.of(value)
		if err != nil || !passes {
			return false, err
		}
	}
	return true, nil
}

// decideDirectly runs Flagger's whole loop for every interval. It is slow, and the judge of Decide in the tests.
func (rule *Rule) decideDirectly(seen *rollout.Rollout) (rollout.Decision, error) {
	series, err := rule.series(seen)
	if err != nil {
		return rollout.Decision{}, err
	}
	analysis := rule.analysis
	for _, metric := range rule.metrics {
		analysis.Metrics = append(analysis.Metrics, metric.theirs)
	}
	cluster := rule.rules.cluster
	if err := cluster.begin(analysis); err != nil {
		return rollout.Decision{}, err
	}
	phase, end := flaggerv1.CanaryPhaseProgressing, time.Duration(seen.EndSeconds()*float64(time.Second))
	for now := rule.interval; now <= end; now += rule.interval {
		cluster.prometheus.values = map[string]rollout.Value{}
		for i, metric := range rule.metrics {
			value := series[i][seen.PointsUntil(now.Seconds())]
			value.Value *= metric.scale
			cluster.prometheus.values[metric.query] = value
		}
		cluster.advance()
		canary, _, err := cluster.read()
		if err != nil {
			return rollout.Decision{}, err
		}
		phase = canary.Status.Phase
		if what := decision(phase); what != rollout.Nothing {
			return seen.At(what, now.Seconds(), string(phase)), nil
		}
	}
	return seen.Ended(string(phase)), nil
}
