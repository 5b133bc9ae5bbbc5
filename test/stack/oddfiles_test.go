//go:build unix

package stack

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestConfigurationBecomesAPipe: a running daemon refuses what it cannot read as a file,
// at once, and follows the file again when it is one.
func TestConfigurationBecomesAPipe(t *testing.T) {
	s := start(t, pair)
	config, err := s.WriteConfig(labels)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	healthy(t, d)
	ready(t, d, "")
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(make func(path string) error) {
		t.Helper()
		if err := make(config + ".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(config+".new", config); err != nil {
			t.Fatal(err)
		}
	}
	replace(func(path string) error { return syscall.Mkfifo(path, 0o600) })
	awaitEvent(t, s, namespace, "Pod", "ConfigurationRefused")
	replace(func(path string) error {
		return os.WriteFile(path, append(good, "nodes: {skipDeletion: true}\n"...), 0o600)
	})
	awaitEvent(t, s, namespace, "Pod", "ConfigurationApplied")
	if took, err := d.Stop(); err != nil || took > Slower(5*time.Second) {
		t.Errorf("ended after %v with %v", took, err)
	}
}
