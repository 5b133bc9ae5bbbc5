package logging

import (
	"strings"
	"testing"
)

func TestWantsJSON(t *testing.T) {
	for args, want := range map[string]bool{
		"": false, "--logging-format=json": true, "--logging-format json": true, "--logging_format=json": true,
		"--logging-format=text": false, "--logging-format=json --logging-format=text": false,
		"--nonsense --logging-format=json": true, "--nonsense": false, "--logging-format": false, "json": false,
	} {
		if got := WantsJSON(strings.Fields(args)); got != want {
			t.Errorf("%q: %t", args, got)
		}
	}
}
