package scenarios

import (
	"testing"
	"time"
)

// TestPacer: what a bucket of 20 that is filled with 20 a second lets through is
// accepted however late it is seen, and more is not.
func TestPacer(t *testing.T) {
	type look struct {
		asked, answered time.Duration
		is              float64
	}
	for name, c := range map[string]struct {
		looks []look
		fast  bool
	}{
		"just so":             {[]look{{0, 0, 5}, {time.Second, time.Second, 5}, {2 * time.Second, 2 * time.Second, 45}}, false},
		"all at once":         {[]look{{0, 0, 0}, {time.Second, time.Second, 100}}, true},
		"idle time is no use": {[]look{{0, 0, 0}, {time.Minute, time.Minute, 0}, {61 * time.Second, 61 * time.Second, 100}}, true},
		"fast in the end":     {[]look{{0, 0, 0}, {time.Second, time.Second, 30}, {1100 * time.Millisecond, 1200 * time.Millisecond, 100}}, true},
		"a slow answer":       {[]look{{0, 0, 0}, {time.Second, 5 * time.Second, 100}}, false},
	} {
		p := pacer{burst: 20, rate: 20}
		began, fast := time.Now(), false
		for _, l := range c.looks {
			fast = p.see(began.Add(l.asked), began.Add(l.answered), l.is) != nil
		}
		if fast != c.fast {
			t.Errorf("%s: too fast: %t", name, fast)
		}
	}
}
