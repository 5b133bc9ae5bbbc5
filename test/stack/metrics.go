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

// Metrics is a snapshot of a program's /metrics.
type Metrics []Sample

// A Sample is one line of Metrics.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// Sum adds up the samples with this name and all these labels, and reports whether there are any.
func (m Metrics) Sum(name string, labels map[string]string) (sum float64, there bool) {
	for _, s := range m {
		if s.Name == name && s.hasLabels(labels) {
			sum = sum + s.Value
			there = true
		}
	}
	return sum, there
}

func (s *Sample) hasLabels(labels map[string]string) bool {
	for key, value := range labels {
		if s.Labels[key] != value {
			return false
		}
	}
	return true
}

// Metrics requests a daemon's metrics as an administrator of the cluster.
func (s *Stack) Metrics(ctx context.Context, d *Daemon) (Metrics, error) {
	text, err := s.getAsAdmin(ctx, d, "/metrics")
	if err != nil {
		return nil, err
	}
	return parseMetrics(text)
}

// Ready requests /readyz?verbose as an administrator and returns the body with any status.
func (s *Stack) Ready(ctx context.Context, d *Daemon) (string, error) {
	return s.getAsAdmin(ctx, d, "/readyz?verbose")
}

func (s *Stack) getAsAdmin(ctx context.Context, d *Daemon, path string) (string, error) {
	admin := s.Cluster.AdminConfig()
	pair, err := tls.X509KeyPair(admin.CertData, admin.KeyData)
	if err != nil {
		return "", err
	}
	// A daemon loads the CA for client certificates shortly after it begins to listen. Until then clients with a
	// certificate are anonymous.
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

func parseMetrics(text string) (Metrics, error) {
	families, err := testutil.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	var metrics Metrics
	for name, family := range families {
		for _, m := range family.GetMetric() {
			s := Sample{Name: name, Labels: map[string]string{}, Value: m.GetCounter().GetValue() + m.GetGauge().GetValue()}
			for _, label := range m.GetLabel() {
				s.Labels[label.GetName()] = label.GetValue()
			}
			metrics = append(metrics, s)
		}
	}
	return metrics, nil
}
