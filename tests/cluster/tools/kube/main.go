// The programs of Kubernetes in one binary, chosen by the first argument: `kube kube-apiserver --etcd-servers=...`.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Only the chosen one may be created: two of them in one process register the same feature gates and panic.
var programs = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-proxy":              proxy.NewProxyCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

func main() {
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		names := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "usage: kube PROGRAM [FLAGS]; programs: %s\n", strings.Join(names, " "))
		os.Exit(2)
	}
	name := os.Args[1]
	os.Args = os.Args[1:]
	os.Exit(cli.Run(programs[name]()))
}
