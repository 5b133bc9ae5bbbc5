package stack

import "testing"

func TestParseMetrics(t *testing.T) {
	m, err := parseMetrics(`# HELP a_total What "it" {counts}.
# TYPE a_total counter
a_total{kind="x, \"y\"",of="1"} 3
a_total{kind="z",of="1",} 4.5e+00 1700000000000
a_total{} 1

up 1
bucket{le="+Inf"} +Inf
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		labels map[string]string
		want   float64
		there  bool
	}{
		{"a_total", nil, 8.5, true},
		{"a_total", map[string]string{"of": "1"}, 7.5, true},
		{"a_total", map[string]string{"of": "1", "kind": `x, "y"`}, 3, true},
		{"a_total", map[string]string{"of": "2"}, 0, false},
		{"up", nil, 1, true},
		{"down", nil, 0, false},
	} {
		if sum, there := m.Sum(test.name, test.labels); sum != test.want || there != test.there {
			t.Errorf("%s%v: %g, %t", test.name, test.labels, sum, there)
		}
	}
	for _, line := range []string{"up", "up one", `up{a=1} 1`, `up{a="1} 1`} {
		if _, err := parseMetrics(line); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
