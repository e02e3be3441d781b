package flagger

import (
	"encoding/json"
	"fmt"

	flaggerv1 "github.com/fluxcd/flagger/pkg/apis/flagger/v1beta1"
	istio "github.com/fluxcd/flagger/pkg/apis/istio/v1alpha3"

	"longshore.dev/tests/sim/peers/rollout"
)

// machine is the state machine of a canary, found by asking Flagger for each transition once. What follows from a check
// depends on whether it passed, not on the values, so the machine does not depend on the metrics.
type machine struct {
	cluster *cluster
	root    *state
	states  map[string]*state
}

type state struct {
	canary    *flaggerv1.Canary
	routes    *istio.VirtualService
	decision  string
	following [2]*state // After a failed check, and after one that passed.
}

func (r *Rules) machineOf(analysis flaggerv1.CanaryAnalysis) (*machine, error) {
	analysis.Interval = "" // The machine counts runs of the loop.
	key, err := json.Marshal(analysis)
	if err != nil {
		return nil, err
	}
	if found, ok := r.machines[string(key)]; ok {
		return found, nil
	}
	limit := 0.5
	analysis.Metrics = []flaggerv1.CanaryMetric{{
		Name: "check", TemplateRef: &flaggerv1.CrossNamespaceObjectReference{Name: queryOf(0)},
		ThresholdRange: &flaggerv1.CanaryThresholdRange{Max: &limit},
	}}
	made := &machine{cluster: r.cluster, states: map[string]*state{}}
	if err := r.cluster.begin(analysis); err != nil {
		return nil, err
	}
	if made.root, err = made.read(); err != nil {
		return nil, err
	}
	if phase := made.root.canary.Status.Phase; phase != flaggerv1.CanaryPhaseProgressing {
		return nil, fmt.Errorf("Flagger does not start the analysis: the phase of the canary is %q", phase)
	}
	r.machines[string(key)] = made
	return made, nil
}

// next returns the state after one run of the loop.
func (m *machine) next(from *state, passes bool) (*state, error) {
	which, value := 0, 1.0
	if passes {
		which, value = 1, 0.0
	}
	if from.following[which] != nil {
		return from.following[which], nil
	}
	if err := m.cluster.write(from.canary, from.routes); err != nil {
		return nil, err
	}
	m.cluster.prometheus.values = map[string]rollout.Value{queryOf(0): {Value: value, Exists: true}}
	m.cluster.advance()
	made, err := m.read()
	from.following[which] = made
	return made, err
}

// read returns the state of the cluster. Equal states are one, whatever the times in them.
func (m *machine) read() (*state, error) {
	canary, routes, err := m.cluster.read()
	if err != nil {
		return nil, err
	}
	status := canary.Status
	spec, err := json.Marshal(routes.Spec)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s %d %d %d %s %s %s", status.Phase, status.CanaryWeight, status.FailedChecks, status.Iterations, status.LastAppliedSpec, status.LastPromotedSpec, spec)
	if found, ok := m.states[key]; ok {
		return found, nil
	}
	made := &state{canary: canary, routes: routes, decision: decision(status.Phase)}
	m.states[key] = made
	return made, nil
}
