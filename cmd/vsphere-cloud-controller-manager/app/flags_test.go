package app

import (
	"os"
	"strings"
	"testing"
	"time"

	"vzones/cmd/vsphere-cloud-controller-manager/app/flags"
	"vzones/cmd/vzones/running"
)

// TestFlagsAreDocumented: the reference names flags that exist, with the
// defaults that they have, and all of the daemon's own.
func TestFlagsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	d := New(nil, Options{})
	cmd := d.newCommand(t.Context(), newOptions(t))
	found := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.HasPrefix(cells[1], " `--") {
			continue
		}
		name, want := strings.Trim(cells[1], " `-"), strings.Trim(cells[2], " `")
		found[name] = true
		if f := cmd.Flags().Lookup(name); f == nil || f.DefValue != want {
			t.Errorf("--%s is documented with the default %q, and is %+v", name, want, f)
		}
	}
	if len(found) == 0 {
		t.Error("the reference has no flags")
	}
	own := d.flags.Sets()
	if len(own.FlagSets) == 0 {
		t.Error("the daemon has no flags of its own")
	}
	for _, set := range own.FlagSets {
		for line := range strings.Lines(set.FlagUsages()) {
			name, _, _ := strings.Cut(strings.TrimLeft(line, " -"), " ")
			if !found[name] {
				t.Errorf("--%s is not documented", name)
			}
		}
	}
}

// TestTagRefresh: the flag reaches what the fleet is made with.
func TestTagRefresh(t *testing.T) {
	d := New(nil, Options{})
	cmd := d.newCommand(t.Context(), newOptions(t))
	if got := d.flags.TagRefresh.String(); got != "30s" {
		t.Errorf("the default is %s", got)
	}
	if err := cmd.ParseFlags([]string{"--tag-refresh=2m"}); err != nil {
		t.Fatal(err)
	}
	if got := d.flags.TagRefresh.String(); got != "2m0s" {
		t.Errorf("it is %s", got)
	}
}

// TestFrameworksFlagsThatTheToolReads: the tool reads the command line of a running daemon without the
// framework, and reads the same.
func TestFrameworksFlagsThatTheToolReads(t *testing.T) {
	cmd := New(nil, Options{}).newCommand(t.Context(), newOptions(t))
	read, err := running.ParseArguments(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"cloud-provider": {"string", read.CloudProvider}, "cloud-config": {"string", read.CloudConfig},
	} {
		if f := cmd.Flags().Lookup(name); f == nil || f.Value.Type() != want[0] || f.DefValue != want[1] {
			t.Errorf("--%s is %+v, want type and default %q", name, f, want)
		}
	}
}

func TestTagRefreshIsChecked(t *testing.T) {
	for d, valid := range map[time.Duration]bool{-time.Second: false, 0: false, 99 * time.Millisecond: false, 100 * time.Millisecond: true, time.Hour: true} {
		if err := (&flags.Flags{TagRefresh: d, MaxSnapshotAge: time.Minute, LoginTimeout: time.Minute}).Check(); (err == nil) != valid {
			t.Errorf("%v: %v", d, err)
		}
	}
}

func TestMaxSnapshotAge(t *testing.T) {
	for arg, valid := range map[string]bool{"": true, "--max-snapshot-age=0": false, "--max-snapshot-age=999ms": false, "--max-snapshot-age=1s": true} {
		d := New(nil, Options{})
		cmd := d.newCommand(t.Context(), newOptions(t))
		if err := cmd.ParseFlags(strings.Fields(arg)); err != nil {
			t.Fatal(err)
		}
		if err := d.flags.Check(); (err == nil) != valid {
			t.Errorf("%q: %v", arg, err)
		}
		if arg == "" && d.flags.MaxSnapshotAge != 5*time.Minute {
			t.Errorf("the default is %v", d.flags.MaxSnapshotAge)
		}
	}
}

func TestLoginTimeoutIsChecked(t *testing.T) {
	d := New(nil, Options{})
	cmd := d.newCommand(t.Context(), newOptions(t))
	if got := d.flags.LoginTimeout; got != 90*time.Second {
		t.Errorf("the default is %s", got)
	}
	for value, valid := range map[string]bool{"-1s": false, "0": false, "999ms": false, "1s": true, "5m": true} {
		if err := cmd.ParseFlags([]string{"--login-timeout=" + value}); err != nil {
			t.Fatal(err)
		}
		if err := d.flags.Check(); (err == nil) != valid {
			t.Errorf("%s: %v", value, err)
		}
	}
}
