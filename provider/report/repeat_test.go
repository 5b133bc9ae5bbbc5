package report_test

import (
	"fmt"
	"testing"
	"time"

	"vzones/provider/report"
)

// TestRepeatAfter: before API servers forget an Event, always the same for the same thing, and
// for thousands not at the same time.
func TestRepeatAfter(t *testing.T) {
	seconds := map[time.Duration]int{}
	for i := range 5000 {
		name := fmt.Sprint("node-", i)
		after := report.RepeatAfter(name)
		if after < 50*time.Minute || after > 55*time.Minute || after != report.RepeatAfter(name) {
			t.Errorf("%s: %v", name, after)
		}
		seconds[after.Truncate(time.Second)]++
	}
	for at, n := range seconds {
		if n > 50 {
			t.Errorf("%d at %v", n, at)
		}
	}
}
