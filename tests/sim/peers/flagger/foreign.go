package flagger

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "unsafe" // For go:linkname.

	flaggerv1 "github.com/fluxcd/flagger/pkg/apis/flagger/v1beta1"
	istio "github.com/fluxcd/flagger/pkg/apis/istio/v1alpha3"
	"github.com/fluxcd/flagger/pkg/canary"
	flaggerfake "github.com/fluxcd/flagger/pkg/client/clientset/versioned/fake"
	"github.com/fluxcd/flagger/pkg/client/informers/externalversions"
	"github.com/fluxcd/flagger/pkg/controller"
	"github.com/fluxcd/flagger/pkg/metrics/observers"
	"github.com/fluxcd/flagger/pkg/notifier"
	"github.com/fluxcd/flagger/pkg/router"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"longshore.dev/tests/sim/peers/rollout"
)

// advanceCanary is Flagger's own function: one run of the control loop, which checks the metrics and then advances the
// canary, promotes it or rolls it back.
//
//go:linkname advanceCanary github.com/fluxcd/flagger/pkg/controller.(*Controller).advanceCanary
func advanceCanary(theirs *controller.Controller, name string, namespace string)

// runBuiltinMetricChecks and runMetricChecks are the two halves of Flagger's check of the metrics.
//
//go:linkname runBuiltinMetricChecks github.com/fluxcd/flagger/pkg/controller.(*Controller).runBuiltinMetricChecks
func runBuiltinMetricChecks(theirs *controller.Controller, canary *flaggerv1.Canary) bool

//go:linkname runMetricChecks github.com/fluxcd/flagger/pkg/controller.(*Controller).runMetricChecks
func runMetricChecks(theirs *controller.Controller, canary *flaggerv1.Canary) bool

const (
	namespace = "default"
	name      = "model"
	// metricsMax is the number of metric templates, which are made in advance.
	metricsMax = 8
	// address is never resolved: the transport answers in memory.
	address = "http://prometheus.invalid"
)

// cluster is Flagger's controller with a Kubernetes API and a Prometheus in memory.
type cluster struct {
	theirs     *controller.Controller
	kubernetes *fake.Clientset
	objects    *flaggerfake.Clientset
	prometheus *prometheus
}

// theCluster makes the only cluster of the process, because Flagger registers global metrics.
var theCluster = sync.OnceValue(func() *cluster {
	made := &cluster{kubernetes: fake.NewSimpleClientset(), objects: flaggerfake.NewSimpleClientset(), prometheus: &prometheus{}}
	http.DefaultClient.Transport = made.prometheus // Flagger's Prometheus client uses the default client.
	made.kubernetes.PrependReactor("*", "events", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, &corev1.Event{}, nil
	})
	logger := zap.NewNop().Sugar()
	factory := externalversions.NewSharedInformerFactory(made.objects, 0).Flagger().V1beta1()
	informers := controller.Informers{CanaryInformer: factory.Canaries(), MetricInformer: factory.MetricTemplates(), AlertInformer: factory.AlertProviders()}
	for i := range metricsMax {
		if err := informers.MetricInformer.Informer().GetIndexer().Add(template(i)); err != nil {
			panic(err) // The template has a name.
		}
	}
	observer, err := observers.NewFactory(address)
	if err != nil {
		panic(err) // The address is a URL.
	}
	made.theirs = controller.NewController(made.kubernetes, made.objects, informers, time.Second, logger, &notifier.NopNotifier{},
		canary.NewFactory(made.kubernetes, made.objects, &canary.NopTracker{}, []string{"app"}, []string{""}, logger),
		router.NewFactory(nil, made.kubernetes, made.objects, "", "", logger, made.objects, false),
		observer, flaggerv1.IstioProvider, "", "", "", false)
	return made
})

// template returns a metric template whose query names the metric.
func template(i int) *flaggerv1.MetricTemplate {
	return &flaggerv1.MetricTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: queryOf(i), Namespace: namespace},
		Spec: flaggerv1.MetricTemplateSpec{
			Provider: flaggerv1.MetricTemplateProvider{Type: "prometheus", Address: address},
			Query:    queryOf(i),
		},
	}
}

func queryOf(i int) string { return fmt.Sprintf("metric-%d", i) }

// prometheus answers queries over HTTP in memory.
type prometheus struct {
	values map[string]rollout.Value // Query, or one of Flagger's metrics -> the answer.
}

func (p *prometheus) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query().Get("query")
	switch {
	case strings.Contains(query, "request_duration"):
		query = durationMetric
	case strings.Contains(query, "requests_total"):
		query = successMetric
	}
	results := "[]"
	if value := p.values[query]; value.Exists {
		results = `[{"metric":{},"value":[0,"` + strconv.FormatFloat(value.Value, 'g', -1, 64) + `"]}]`
	}
	body := `{"status":"success","data":{"resultType":"vector","result":` + results + `}}`
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
}

// passes runs Flagger's check of one metric with a value.
func (c *cluster) passes(metric flaggerv1.CanaryMetric, query string, value rollout.Value) bool {
	c.prometheus.values = map[string]rollout.Value{query: value}
	checked := newCanary(flaggerv1.CanaryAnalysis{Metrics: []flaggerv1.CanaryMetric{metric}})
	if isBuiltin(metric.Name) {
		return runBuiltinMetricChecks(c.theirs, checked)
	}
	return runMetricChecks(c.theirs, checked)
}

// newCanary returns a canary of a service, because a service has no pods that would have to become ready.
func newCanary(analysis flaggerv1.CanaryAnalysis) *flaggerv1.Canary {
	return &flaggerv1.Canary{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: flaggerv1.CanarySpec{
			TargetRef: flaggerv1.LocalObjectReference{Name: name, APIVersion: "core/v1", Kind: "Service"},
			Service:   flaggerv1.CanaryService{Port: 80},
			Analysis:  &analysis,
		},
	}
}

func newService(version string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"version": version}, Type: corev1.ServiceTypeClusterIP},
	}
}

// begin starts a canary, and runs the loop until the candidate has its first share of the traffic.
func (c *cluster) begin(analysis flaggerv1.CanaryAnalysis) error {
	background := context.Background()
	services := c.kubernetes.CoreV1().Services(namespace)
	for _, service := range []string{name, name + "-primary", name + "-canary"} {
		_ = services.Delete(background, service, metav1.DeleteOptions{}) // It does not exist in the first call.
	}
	_ = c.objects.FlaggerV1beta1().Canaries(namespace).Delete(background, name, metav1.DeleteOptions{})
	_ = c.objects.NetworkingV1alpha3().VirtualServices(namespace).Delete(background, name, metav1.DeleteOptions{})
	if _, err := services.Create(background, newService("stable"), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := c.objects.FlaggerV1beta1().Canaries(namespace).Create(background, newCanary(analysis), metav1.CreateOptions{}); err != nil {
		return err
	}
	c.advance() // Flagger prepares the services.
	if _, err := services.Update(background, newService("candidate"), metav1.UpdateOptions{}); err != nil {
		return err
	}
	c.advance() // Flagger finds the new version.
	c.advance() // Flagger gives it traffic. No metric is checked before that.
	return nil
}

// advance runs the loop once.
func (c *cluster) advance() {
	advanceCanary(c.theirs, name, namespace)
	c.kubernetes.ClearActions()
	c.objects.ClearActions()
}

// read returns the canary and its routes.
func (c *cluster) read() (*flaggerv1.Canary, *istio.VirtualService, error) {
	read, err := c.objects.FlaggerV1beta1().Canaries(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	routes, err := c.objects.NetworkingV1alpha3().VirtualServices(namespace).Get(context.Background(), name, metav1.GetOptions{})
	return read, routes, err
}

// write restores a canary and its routes.
func (c *cluster) write(canary *flaggerv1.Canary, routes *istio.VirtualService) error {
	if _, err := c.objects.FlaggerV1beta1().Canaries(namespace).Update(context.Background(), canary, metav1.UpdateOptions{}); err != nil {
		return err
	}
	_, err := c.objects.NetworkingV1alpha3().VirtualServices(namespace).Update(context.Background(), routes, metav1.UpdateOptions{})
	return err
}
