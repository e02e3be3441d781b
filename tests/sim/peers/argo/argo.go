// Package argo judges rollouts by the analysis of Argo Rollouts. The code of its Go module takes and assesses the
// measurements; this package gives it a clock, values, and a memory of what it answered.
package argo

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	analysisutil "github.com/argoproj/argo-rollouts/utils/analysis"
	"github.com/argoproj/argo-rollouts/utils/evaluate"
	"github.com/sirupsen/logrus"

	"longshore.dev/tests/sim/peers/answers"
	"longshore.dev/tests/sim/peers/rollout"
)

// Setting is an AnalysisTemplate without its queries.
type Setting struct {
	Name    string          `json:"name"`
	Peer    string          `json:"peer"`
	Metrics []MetricSetting `json:"metrics"`
	// TerminateAfterSeconds is the time at which the rollout's steps end, which terminates its background analysis.
	TerminateAfterSeconds float64 `json:"terminate_after_seconds"`
}

// MetricSetting is a metric of the template, and the measure that its query returns.
type MetricSetting struct {
	Measure string `json:"measure"`
	// WindowSeconds is the range of the query; 0: the metric's interval.
	WindowSeconds float64         `json:"window_seconds"`
	Metric        v1alpha1.Metric `json:"metric"`
}

// Rules makes rules that share Argo's controller and what it answered.
type Rules struct {
	controller *controller
	machines   map[string]*machine
	phases     map[string]*phases
}

// NewRules returns Rules. A program needs only one, because Argo's clock is global.
func NewRules() *Rules {
	return &Rules{newController(), map[string]*machine{}, map[string]*phases{}}
}

// Rule is one setting.
type Rule struct {
	rules          *Rules
	metrics        []oneMetric
	terminateAfter time.Duration // 0: never.
}

type oneMetric struct {
	measure rollout.Measure
	window  time.Duration
	theirs  v1alpha1.Metric
	phases  *phases
	machine *machine
}

// New reads a setting. Argo validates the metrics.
func (r *Rules) New(text json.RawMessage) (*Rule, error) {
	setting := Setting{}
	if err := rollout.Decode(text, &setting); err != nil {
		return nil, err
	}
	rule := &Rule{rules: r, terminateAfter: seconds(setting.TerminateAfterSeconds)}
	theirs := []v1alpha1.Metric{}
	for i, one := range setting.Metrics {
		made, err := r.newMetric(i, one)
		if err != nil {
			return nil, fmt.Errorf("metrics[%d]: %w", i, err)
		}
		rule.metrics = append(rule.metrics, made)
		theirs = append(theirs, made.theirs)
	}
	if err := analysisutil.ValidateMetrics(theirs); err != nil {
		return nil, fmt.Errorf("Argo refuses the metrics: %w", err)
	}
	for i := range rule.metrics {
		if err := checkConditions(rule.metrics[i].theirs); err != nil {
			return nil, fmt.Errorf("metrics[%d]: %w", i, err)
		}
	}
	return rule, nil
}

func (r *Rules) newMetric(i int, setting MetricSetting) (oneMetric, error) {
	measure, err := rollout.ParseMeasure(setting.Measure)
	if err != nil {
		return oneMetric{}, err
	}
	made := oneMetric{measure: measure, window: seconds(setting.WindowSeconds), theirs: setting.Metric}
	if !reflect.DeepEqual(made.theirs.Provider, v1alpha1.MetricProvider{}) {
		return oneMetric{}, fmt.Errorf("provider must be absent: the measure takes its place")
	}
	made.theirs.Provider.Prometheus = &v1alpha1.PrometheusMetric{Query: setting.Measure}
	if made.theirs.Name == "" {
		made.theirs.Name = fmt.Sprintf("metric %d", i)
	}
	if made.window == 0 {
		if made.window, err = made.theirs.Interval.Duration(); err != nil {
			return oneMetric{}, fmt.Errorf("window_seconds is missing, and interval %q is not a duration: %w", made.theirs.Interval, err)
		}
	}
	made.phases = r.phasesOf(made.theirs)
	made.machine = r.machineOf(made.theirs)
	return made, nil
}

func seconds(number float64) time.Duration { return time.Duration(number * float64(time.Second)) }

// checkConditions finds conditions that Argo cannot compile, which would otherwise be errors of every measurement.
func checkConditions(metric v1alpha1.Metric) error {
	_, err := evaluate.EvaluateResult([]float64{1}, metric, *logrus.NewEntry(logrus.StandardLogger()))
	if err != nil {
		return fmt.Errorf("Argo cannot evaluate successCondition %q or failureCondition %q for the result [1]: %w", metric.SuccessCondition, metric.FailureCondition, err)
	}
	return nil
}

// phases remembers how Argo judged the values of a measure.
type phases struct {
	known   *answers.Answers[v1alpha1.AnalysisPhase]
	missing v1alpha1.AnalysisPhase // For a query without a result.
}

// limit matches conditions that compare the result with a number, so that each of Argo's answers holds for an interval.
var limit = regexp.MustCompile(`^(((isNaN\(result\[0\]\)|len\(result\) == 0) \|\| )*result\[0\] (<|<=|>|>=) -?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?)?$`)

func (r *Rules) phasesOf(metric v1alpha1.Metric) *phases {
	key := metric.SuccessCondition + "\x00" + metric.FailureCondition
	if found, ok := r.phases[key]; ok {
		return found
	}
	kind := answers.Arbitrary
	if limit.MatchString(metric.SuccessCondition) && limit.MatchString(metric.FailureCondition) {
		kind = answers.Convex
	}
	made := &phases{known: answers.New(kind, func(value float64) (v1alpha1.AnalysisPhase, error) {
		return measure(rollout.Value{Value: value, Exists: true}, metric)
	})}
	r.phases[key] = made
	return made
}

func (p *phases) of(value rollout.Value, metric v1alpha1.Metric) (v1alpha1.AnalysisPhase, error) {
	if value.Exists {
		return p.known.Of(value.Value)
	}
	if p.missing == "" {
		found, err := measure(value, metric)
		if err != nil {
			return "", err
		}
		p.missing = found
	}
	return p.missing, nil
}

// decision translates the phase of a finished run: a failure or an error aborts the rollout, an inconclusive run pauses
// it (docs/features/analysis.md of Argo Rollouts).
func decision(phase v1alpha1.AnalysisPhase) string {
	switch phase {
	case v1alpha1.AnalysisPhaseSuccessful:
		return rollout.Promoted
	case v1alpha1.AnalysisPhaseInconclusive:
		return rollout.Inconclusive
	case v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError:
		return rollout.RolledBack
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
	if len(rule.metrics) == 1 {
		return rule.decideByMachine(seen, series[0])
	}
	return rule.decideDirectly(seen, series)
}

func (rule *Rule) series(seen *rollout.Rollout) ([]rollout.Series, error) {
	all := make([]rollout.Series, len(rule.metrics))
	for i, metric := range rule.metrics {
		points, err := seen.DurationPoints("a window", metric.window.Seconds())
		if err != nil {
			return nil, fmt.Errorf("metrics[%d]: %w", i, err)
		}
		if all[i], err = seen.Series(metric.measure, points); err != nil {
			return nil, fmt.Errorf("metrics[%d]: %w", i, err)
		}
	}
	return all, nil
}

// decideDirectly calls Argo for every measurement. It is slow, and the judge of decideByMachine in the tests.
func (rule *Rule) decideDirectly(seen *rollout.Rollout, series []rollout.Series) (rollout.Decision, error) {
	run := newRun()
	values := &values{servers: map[string]*server{}}
	for _, metric := range rule.metrics {
		run.Spec.Metrics = append(run.Spec.Metrics, metric.theirs)
		values.servers[metric.theirs.Name] = &server{}
	}
	end := seconds(seen.EndSeconds())
	for now := time.Duration(0); now <= end+margin; {
		if rule.terminateAfter > 0 && now >= rule.terminateAfter {
			now, run.Spec.Terminate = rule.terminateAfter, true
		}
		for i, metric := range rule.metrics {
			values.servers[metric.theirs.Name].value = series[i][seen.PointsUntil(now.Seconds())]
		}
		run = rule.rules.controller.reconcile(run, start.Add(now), values)
		if run.Status.Phase.Completed() {
			return seen.At(decision(run.Status.Phase), now.Round(time.Millisecond).Seconds(), string(run.Status.Phase)), nil
		}
		if rule.rules.controller.after == nil {
			break
		}
		now += *rule.rules.controller.after + tick
	}
	if rule.terminateAfter > 0 && rule.terminateAfter <= end {
		run.Spec.Terminate = true
		run = rule.rules.controller.reconcile(run, start.Add(rule.terminateAfter), values)
		return seen.At(decision(run.Status.Phase), rule.terminateAfter.Seconds(), string(run.Status.Phase)), nil
	}
	return seen.Ended(string(run.Status.Phase)), nil
}

// A measurement is due only after its time, so the clock must pass it. The sum of all ticks stays below the margin.
const (
	tick   = time.Nanosecond
	margin = time.Millisecond
)
