package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vzones/config"
)

func TestConfigure(t *testing.T) {
	write := func(name, content string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := write("good.yaml", "vcenter: {east: {server: 192.0.2.1, user: admin, password: S3cret}}\n")
	bad := write("bad.yaml", "vcenter: {east: {server: 192.0.2.1, prot: 443}}\n")

	for _, c := range []struct{ provider, file, says string }{
		{"aws", good, `"aws"`},
		{"", good, `"vsphere"`},
		{"vsphere", "", "--cloud-config"},
		{"vsphere", good + ".absent", "good.yaml.absent"},
		{"vsphere", bad, "bad.yaml:1: vcenter.east.prot"},
	} {
		d := New(nil, Options{})
		if err := d.configure(t.Context(), c.provider, c.file); err == nil || !strings.Contains(err.Error(), c.says) || d.cfg != nil {
			t.Errorf("%q, %s: %v, want %s", c.provider, c.file, err, c.says)
		}
	}
	d := New(nil, Options{})
	if err := d.configure(t.Context(), "vsphere", good); err != nil || d.cfg == nil || d.cfg.VCenters[0].Name != "east" {
		t.Errorf("%v, %+v", err, d.cfg)
	}
	var mistakes config.Errors
	if err := d.configure(t.Context(), "vsphere", bad); !errors.As(err, &mistakes) {
		t.Errorf("the mistakes cannot be distinguished from other errors: %v", err)
	}
	if d.cfg == nil || d.cfg.File != good {
		t.Error("a mistaken file took the place of a good one")
	}
}

func TestStop(t *testing.T) {
	t.Run("waits for what runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			d := New(nil, Options{})
			d.cancel = cancel
			ended := false
			d.group.Go(func() error {
				<-ctx.Done()
				time.Sleep(stopTimeout / 2) // logging out
				ended = true
				return errors.New("a vCenter did not let go")
			})
			d.Stop(t.Context())
			if !ended {
				t.Error("left behind")
			}
			started := time.Now()
			d.Stop(t.Context())
			if time.Since(started) > 0 {
				t.Error("stopped twice")
			}
		})
	})
	t.Run("but not for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := New(nil, Options{})
			release := make(chan struct{})
			d.group.Go(func() error { <-release; return nil })
			started := time.Now()
			d.Stop(t.Context())
			if waited := time.Since(started); waited != stopTimeout {
				t.Errorf("waited for %v", waited)
			}
			close(release)
		})
	})
	t.Run("before anything runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			started := time.Now()
			New(nil, Options{}).Stop(t.Context())
			if waited := time.Since(started); waited > 0 {
				t.Errorf("waited for %v", waited)
			}
		})
	})
}

// TestResult: whoever ends without having been asked to says so, whatever the framework says.
func TestResult(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	wrong, lost := errors.New("wrong"), errors.New("lost")
	for name, c := range map[string]struct {
		began   bool
		asked   context.Context
		err     error
		failure error
		want    error
	}{
		"only printed":            {asked: t.Context()},
		"wrong flags":             {asked: t.Context(), err: wrong, want: wrong},
		"a signal":                {began: true, asked: done},
		"an error after a signal": {began: true, asked: done, err: wrong, want: wrong},
		"no signal":               {began: true, asked: t.Context(), want: ErrEnded},
		"the Lease is lost":       {began: true, asked: t.Context(), failure: lost, want: lost},
		"lost after a signal":     {began: true, asked: done, failure: lost, want: lost},
	} {
		a := New(nil, Options{})
		a.began = c.began
		if c.failure != nil {
			a.fail(c.failure)
		}
		if got := a.result(c.asked, c.err); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
