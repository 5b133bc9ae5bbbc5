package app

import (
	"context"
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
)

// gates is the value of --feature-gates without unknown gates. Kubernetes removes a gate some releases
// after its feature is stable, and a command line that still sets it must not end the daemon.
type gates struct {
	pflag.Value
	unknown []string
}

func ignoreUnknownGates(set *pflag.FlagSet) *gates {
	f := set.Lookup("feature-gates")
	g := &gates{Value: f.Value}
	f.Value = g
	return g
}

// Set leaves invalid syntax to the framework.
func (g *gates) Set(value string) error {
	allGates := utilfeature.DefaultMutableFeatureGate.GetAll()
	var knownGates []string
	for gate := range strings.SplitSeq(value, ",") {
		name, _, isPair := strings.Cut(strings.TrimSpace(gate), "=")
		if _, isKnown := allGates[featuregate.Feature(strings.TrimSpace(name))]; isPair && !isKnown {
			g.unknown = append(g.unknown, strings.TrimSpace(gate))
		} else {
			knownGates = append(knownGates, gate)
		}
	}
	return g.Value.Set(strings.Join(knownGates, ","))
}

func (g *gates) log(ctx context.Context) {
	for _, gate := range g.unknown {
		klog.FromContext(ctx).Info("Ignoring an unknown feature gate: remove it from --feature-gates", "gate", gate)
	}
}
