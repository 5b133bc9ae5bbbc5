package app

import (
	"runtime/debug"
	"testing"

	"k8s.io/apimachinery/pkg/version"
)

// TestVersion begins with the version of vzones, not with that of a library.
func TestVersion(t *testing.T) {
	v := version.Info{GitVersion: "v1.37.2", GitCommit: "abc", GoVersion: "go1.26", Platform: "linux/amd64"}
	const want = "vzones v1.37.2\ncommit abc, go1.26, linux/amd64\n"
	if got := describeVersion(v, nil); got != want {
		t.Errorf("got %q", got)
	}
	built := &debug.BuildInfo{Deps: []*debug.Module{
		{Path: "example.com/other", Version: "v9"}, {Path: "github.com/vmware/govmomi", Version: "v0.56.0"}, {Path: "k8s.io/cloud-provider", Version: "v0.37.1"},
	}}
	if got := describeVersion(v, built); got != want+"with k8s.io/cloud-provider v0.37.1, github.com/vmware/govmomi v0.56.0\n" {
		t.Errorf("got %q", got)
	}
}
