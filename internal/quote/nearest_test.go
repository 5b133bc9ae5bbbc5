package quote

import "testing"

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"port", "prot", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abc", "abc", 0}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: got %d, want %d", c.a, c.b, got, c.want)
		}
		if got := editDistance(c.b, c.a); got != c.want {
			t.Errorf("%q to %q: got %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"secretName", "secretNamespace", "server", "port"}
	for unknown, want := range map[string]string{
		"secretNamepace": "secretNamespace",
		"secretname":     "secretName",
		"secret-nam":     "secretName",
		"secretNames":    "secretName",
		"prot":           "port",
		"user":           "",
	} {
		if got := Nearest(unknown, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", unknown, got, want)
		}
	}
}
