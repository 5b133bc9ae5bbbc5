package chart

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestSchemaIsCurrent(t *testing.T) {
	current(t, "manifests/chart/values.schema.json", func(context.Context) ([]byte, error) { return helm.Schema() })
}

func TestPlainManifestIsCurrent(t *testing.T) {
	current(t, "manifests/vsphere-cloud-controller-manager.yaml", helm.Plain)
}

func TestShadowManifestIsCurrent(t *testing.T) {
	current(t, "manifests/vzones-shadow.yaml", helm.Shadow)
}

// Markers around the table in the reference.
const (
	begin = "<!-- values: begin. go test ./test/chart -update writes what follows. -->\n\n"
	end   = "\n<!-- values: end -->"
)

func TestReferenceIsCurrent(t *testing.T) {
	const file = "docs/reference/chart.md"
	current(t, file, func(context.Context) ([]byte, error) {
		is, err := os.ReadFile(filepath.Join(helm.Root(), file))
		if err != nil {
			return nil, err
		}
		before, rest, ok := bytes.Cut(is, []byte(begin))
		_, after, also := bytes.Cut(rest, []byte(end))
		if !ok || !also {
			return nil, errors.New(file + " has no place for the values")
		}
		table, err := helm.Reference()
		if err != nil {
			return nil, err
		}
		return bytes.Join([][]byte{before, []byte(begin), []byte(table), []byte(end), after}, nil), nil
	})
}
