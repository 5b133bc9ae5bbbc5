package stack

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/component-base/metrics/testutil"
)

// Metrics are what a program's /metrics shows at one moment.
type Metrics []Sample

// A Sample is one line of it.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// Sum adds up the samples of a name that have all these labels, and says whether
// there are any.
func (m Metrics) Sum(name string, labels map[string]string) (sum float64, there bool) {
	for _, s := range m {
		if s.Name == name && s.has(labels) {
			sum = sum + s.Value
			there = true
		}
	}
	return sum, there
}

func (s *Sample) has(labels map[string]string) bool {
	for key, value := range labels {
		if s.Labels[key] != value {
			return false
		}
	}
	return true
}

// Metrics asks a daemon for its metrics, as a client of the cluster that may see
// everything.
func (s *Stack) Metrics(ctx context.Context, d *Daemon) (Metrics, error) {
	text, err := s.ask(ctx, d, "/metrics")
	if err != nil {
		return nil, err
	}
	return parseMetrics(text)
}

// Ready asks a daemon for /readyz?verbose as Metrics does, and returns what it says,
// ready or not.
func (s *Stack) Ready(ctx context.Context, d *Daemon) (string, error) {
	return s.ask(ctx, d, "/readyz?verbose")
}

func (s *Stack) ask(ctx context.Context, d *Daemon, path string) (string, error) {
	admin := s.Cluster.AdminConfig()
	pair, err := tls.X509KeyPair(admin.CertData, admin.KeyData)
	if err != nil {
		return "", err
	}
	// A daemon knows whose certificates count a moment after it listens. Until then
	// whoever shows one is anonymous.
	for end := time.Now().Add(10 * time.Second); ; {
		code, text, err := d.get(ctx, path, "", []tls.Certificate{pair})
		switch {
		case err != nil || code == http.StatusOK:
			return text, err
		case code != http.StatusUnauthorized || time.Now().After(end):
			return text, fmt.Errorf("%s: %d: %.200s", path, code, text)
		}
		select {
		case <-ctx.Done():
			return text, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// parseMetrics reads the text format: counters and gauges.
func parseMetrics(text string) (Metrics, error) {
	families, err := testutil.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	var all Metrics
	for name, family := range families {
		for _, m := range family.GetMetric() {
			s := Sample{Name: name, Labels: map[string]string{}, Value: m.GetCounter().GetValue() + m.GetGauge().GetValue()}
			for _, label := range m.GetLabel() {
				s.Labels[label.GetName()] = label.GetValue()
			}
			all = append(all, s)
		}
	}
	return all, nil
}
