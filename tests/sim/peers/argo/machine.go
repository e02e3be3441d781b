package argo

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/argoproj/argo-rollouts/metric"
	"github.com/argoproj/argo-rollouts/metricproviders/prometheus"
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"longshore.dev/tests/sim/peers/rollout"
)

// machine is the state machine of a run with one metric, found by asking Argo for each transition once. Argo's
// assessment reads the counters of the metric and its last measurement, and no value, so the machine does not depend on
// the conditions.
type machine struct {
	controller *controller
	root       *state
	states     map[string]*state
}

type state struct {
	run        *v1alpha1.AnalysisRun
	now        time.Time
	after      time.Duration // Until the next measurement.
	ends       bool          // Argo asks for no further measurement.
	following  map[v1alpha1.AnalysisPhase]*state
	terminated v1alpha1.AnalysisPhase // The result if the run is terminated now; empty if not yet known.
}

func newRun() *v1alpha1.AnalysisRun {
	return &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "default"}}
}

func (r *Rules) machineOf(metric v1alpha1.Metric) *machine {
	metric.SuccessCondition, metric.FailureCondition, metric.Name = "", "", "metric"
	metric.Provider.Prometheus = &v1alpha1.PrometheusMetric{Query: "any"}
	key, err := json.Marshal(metric)
	if err != nil {
		panic(err) // It was read from JSON.
	}
	if found, ok := r.machines[string(key)]; ok {
		return found
	}
	made := &machine{controller: r.controller, states: map[string]*state{}}
	run := newRun()
	run.Spec.Metrics = []v1alpha1.Metric{metric}
	made.root = &state{run: run, now: start, following: map[v1alpha1.AnalysisPhase]*state{}}
	r.machines[string(key)] = made
	return made
}

// begin returns the state before the first measurement.
func (m *machine) begin() (*state, error) {
	if m.root.run.Spec.Metrics[0].InitialDelay == "" || m.root.run.Status.Phase != "" {
		return m.root, nil
	}
	first, asked := m.ask(m.root, "")
	if asked != 0 {
		return nil, fmt.Errorf("Argo took a measurement before initialDelay %q ended", m.root.run.Spec.Metrics[0].InitialDelay)
	}
	m.root = first
	return first, nil
}

// next returns the state after a measurement.
func (m *machine) next(from *state, phase v1alpha1.AnalysisPhase) (*state, error) {
	if known, ok := from.following[phase]; ok {
		return known, nil
	}
	made, asked := m.ask(from, phase)
	if asked != 1 {
		return nil, fmt.Errorf("Argo took %d measurements instead of one at %v", asked, made.now.Sub(start))
	}
	key, err := keyOf(made)
	if err != nil {
		return nil, err
	}
	if known, ok := m.states[key]; ok {
		made = known
	}
	m.states[key] = made
	from.following[phase] = made
	return made, nil
}

func (m *machine) ask(from *state, phase v1alpha1.AnalysisPhase) (*state, int) {
	provider := &result{phase: phase}
	now := from.now.Add(from.after + tick)
	run := m.controller.reconcile(from.run, now, provider)
	made := &state{run: run, now: now, following: map[v1alpha1.AnalysisPhase]*state{}, ends: m.controller.after == nil}
	if !made.ends {
		made.after = *m.controller.after
	}
	return made, provider.asked
}

// keyOf returns what Argo's further decisions depend on: the result of the last measurement, and the counters, without
// those that have no limit. The times only matter relative to each other.
func keyOf(made *state) (string, error) {
	metric, counters := made.run.Spec.Metrics[0], made.run.Status.MetricResults[0]
	last := counters.Measurements[len(counters.Measurements)-1].Phase
	counters.Measurements, counters.Message, counters.Error = nil, "", 0
	if metric.ConsecutiveSuccessLimit == nil || metric.ConsecutiveSuccessLimit.IntValue() == 0 {
		counters.ConsecutiveSuccess = 0
	}
	if metric.EffectiveCount() == nil {
		counters.Count, counters.Successful = 0, 0
	}
	key, err := json.Marshal(counters)
	return fmt.Sprintf("%s %s %s %v", key, last, made.run.Status.Phase, made.after), err
}

// terminate returns the result of a run that is terminated.
func (m *machine) terminate(from *state) v1alpha1.AnalysisPhase {
	if from.terminated == "" {
		run := from.run.DeepCopy()
		run.Spec.Terminate = true
		from.terminated = m.controller.reconcile(run, from.now, &result{}).Status.Phase
	}
	return from.terminated
}

func (rule *Rule) decideByMachine(seen *rollout.Rollout, series rollout.Series) (rollout.Decision, error) {
	metric := &rule.metrics[0]
	at, err := metric.machine.begin()
	if err != nil {
		return rollout.Decision{}, err
	}
	now, end := at.after, seconds(seen.EndSeconds())
	for now <= end && !at.ends {
		if rule.terminateAfter > 0 && now >= rule.terminateAfter {
			break
		}
		phase, err := metric.phases.of(series[seen.PointsUntil(now.Seconds())], metric.theirs)
		if err != nil {
			return rollout.Decision{}, err
		}
		if at, err = metric.machine.next(at, phase); err != nil {
			return rollout.Decision{}, err
		}
		if at.run.Status.Phase.Completed() {
			return seen.At(decision(at.run.Status.Phase), now.Seconds(), string(at.run.Status.Phase)), nil
		}
		now += at.after
	}
	if rule.terminateAfter > 0 && rule.terminateAfter <= end {
		phase := metric.machine.terminate(at)
		return seen.At(decision(phase), rule.terminateAfter.Seconds(), string(phase)), nil
	}
	return seen.Ended(string(at.run.Status.Phase)), nil
}

// values is a provider that answers each metric from a server of its own.
type values struct {
	result
	servers map[string]*server
}

func (v *values) Run(run *v1alpha1.AnalysisRun, of v1alpha1.Metric) v1alpha1.Measurement {
	provider, err := prometheus.NewPrometheusProvider(v.servers[of.Name], *logrus.NewEntry(logrus.StandardLogger()), of)
	if err != nil {
		return v1alpha1.Measurement{Phase: v1alpha1.AnalysisPhaseError, Message: err.Error()}
	}
	return provider.Run(run, of)
}

var _ metric.Provider = &values{}
