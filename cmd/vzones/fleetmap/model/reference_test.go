package model_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"vzones/cmd/vzones/fleetmap/model"
)

// TestReference: the reference has a row for each kind, in order, with its severity and title.
func TestReference(t *testing.T) {
	data, err := os.ReadFile("../../../../docs/reference/map.md")
	if err != nil {
		t.Fatal(err)
	}
	rest := string(data)
	for _, k := range model.Kinds() {
		row := fmt.Sprintf("\n| `%s` | %s | %s | ", k, k.Severity(), k.Title())
		_, after, found := strings.Cut(rest, row)
		if !found {
			t.Fatalf("docs/reference/map.md does not have, in the order of model.Kinds,%s", row)
		}
		rest = after
	}
}
