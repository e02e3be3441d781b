package argo

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"time"
	"unsafe" // Also for go:linkname.

	"github.com/argoproj/argo-rollouts/analysis"
	"github.com/argoproj/argo-rollouts/metric"
	"github.com/argoproj/argo-rollouts/metricproviders/prometheus"
	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/argoproj/argo-rollouts/utils/record"
	timeutil "github.com/argoproj/argo-rollouts/utils/time"
	prometheusapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"
	kuberecord "k8s.io/client-go/tools/record"

	"longshore.dev/tests/sim/peers/rollout"
)

// reconcileAnalysisRun is Argo's own function: it takes the measurements that are due, counts them, assesses the run,
// and schedules the next call.
//
//go:linkname reconcileAnalysisRun github.com/argoproj/argo-rollouts/analysis.(*Controller).reconcileAnalysisRun
func reconcileAnalysisRun(controller *analysis.Controller, run *v1alpha1.AnalysisRun) *v1alpha1.AnalysisRun

// controller is Argo's analysis controller with a simulated clock and simulated providers of metrics.
type controller struct {
	theirs *analysis.Controller
	now    time.Time
	// provider answers the measurements of the next reconcile.
	provider metric.Provider
	// after is the time until the next reconcile that the last one asked for; nil if it asked for none.
	after *time.Duration
}

// start is the simulated time at which every run starts.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func newController() *controller {
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.PanicLevel)
	ours := &controller{theirs: &analysis.Controller{}, now: start}
	timeutil.SetNowTimeFunc(func() time.Time { return ours.now })
	set(ours.theirs, "recorder", record.EventRecorder(noEvents{}))
	set(ours.theirs, "newProvider", func(logrus.Entry, string, v1alpha1.Metric) (metric.Provider, error) {
		return ours.provider, nil
	})
	set(ours.theirs, "enqueueAnalysisAfter", func(_ any, after time.Duration) { ours.after = &after })
	return ours
}

// set writes an unexported field of Argo's controller, as Argo's own tests do inside its package.
func set[T any](theirs *analysis.Controller, field string, value T) {
	found := reflect.ValueOf(theirs).Elem().FieldByName(field)
	if !found.IsValid() || found.Type() != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("analysis.Controller of argo-rollouts has no field %s of type %v", field, reflect.TypeFor[T]()))
	}
	*(*T)(unsafe.Pointer(found.UnsafeAddr())) = value
}

// reconcile calls Argo's controller at a time. The measurements that are due come from the provider.
func (c *controller) reconcile(run *v1alpha1.AnalysisRun, now time.Time, provider metric.Provider) *v1alpha1.AnalysisRun {
	c.now, c.provider, c.after = now, provider, nil
	return reconcileAnalysisRun(c.theirs, run)
}

// noEvents drops the events that Argo would send to Kubernetes.
type noEvents struct{}

func (noEvents) Eventf(runtime.Object, record.EventOptions, string, ...any) {}
func (noEvents) Warnf(runtime.Object, record.EventOptions, string, ...any)  {}
func (noEvents) K8sRecorder() kuberecord.EventRecorder                      { return nil }

// result is a provider that has one result for every measurement.
type result struct {
	phase v1alpha1.AnalysisPhase
	asked int
}

func (r *result) Run(*v1alpha1.AnalysisRun, v1alpha1.Metric) v1alpha1.Measurement {
	r.asked++
	now := timeutil.MetaNow()
	return v1alpha1.Measurement{Phase: r.phase, StartedAt: &now, FinishedAt: &now}
}

func (r *result) Resume(_ *v1alpha1.AnalysisRun, _ v1alpha1.Metric, old v1alpha1.Measurement) v1alpha1.Measurement {
	return old
}

func (r *result) Terminate(_ *v1alpha1.AnalysisRun, _ v1alpha1.Metric, old v1alpha1.Measurement) v1alpha1.Measurement {
	return old
}
func (r *result) GarbageCollect(*v1alpha1.AnalysisRun, v1alpha1.Metric, int) error { return nil }
func (r *result) Type() string                                                     { return "result" }
func (r *result) GetMetadata(v1alpha1.Metric) map[string]string                    { return nil }

// server is a Prometheus server in memory that answers every query with one value.
type server struct {
	prometheusapi.API
	value rollout.Value
}

func (s *server) Query(context.Context, string, time.Time, ...prometheusapi.Option) (model.Value, prometheusapi.Warnings, error) {
	if !s.value.Exists {
		return model.Vector{}, nil, nil
	}
	return model.Vector{{Value: model.SampleValue(s.value.Value)}}, nil, nil
}

// measure lets Argo's Prometheus provider take a measurement: it queries the value and evaluates the conditions.
func measure(value rollout.Value, of v1alpha1.Metric) (v1alpha1.AnalysisPhase, error) {
	provider, err := prometheus.NewPrometheusProvider(&server{value: value}, *logrus.NewEntry(logrus.StandardLogger()), of)
	if err != nil {
		return "", err
	}
	return provider.Run(nil, of).Phase, nil
}
