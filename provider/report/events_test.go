package report

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"vzones/internal/quote"
)

// TestShort: an Event is one line of limited length, whatever its message contains.
func TestShort(t *testing.T) {
	fake := record.NewFakeRecorder(3)
	short := Recorder{fake}
	for name, c := range map[string]struct{ in, want string }{
		"usual":     {"the VM is 100% gone", "the VM is 100% gone"},
		"two lines": {"one\ntwo", "one; two"},
		"terminal":  {"\x1b[2J", `\x1b[2J`},
		"long":      {strings.Repeat("x", 2_000_000), strings.Repeat("x", quote.LongestNote-len("…")) + "…"},
	} {
		short.Event(&v1.Node{}, "Warning", "Reason", c.in)
		if got := <-fake.Events; got != "Warning Reason "+c.want {
			t.Errorf("%s: %d bytes: %.100q", name, len(got), got)
		}
	}
}
