package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"vzones/test/fleet/fleettest"
	"vzones/test/stack"
)

// TestCommands: valid lines are executed, and invalid ones are answered with the valid alternatives.
func TestCommands(t *testing.T) {
	out := new(bytes.Buffer)
	w := &console{out: out, stack: &stack.Stack{Fleet: fleettest.Start(t, fleetYAML)}}
	for _, c := range []struct{ line, want string }{
		{"retag paris /dc-1 k8s-zone paris-3", "vCenter paris: /dc-1 now has the tag paris-3 as its only tag of category k8s-zone.\n  Tags are read within 30 s."},
		{"retag rome /dc-1 k8s-zone x", `retag: vCenter "rome" not found: use paris, milan, porto`},
		{"retag paris /dc-9 k8s-zone x", `vCenter "paris" has no object "/dc-9"`},
		{"retag paris /dc-1 zone x", `category "zone" not found: use k8s-region, k8s-zone`},
		{"retag paris /dc-1", `retag: the usage is "retag VCENTER OBJECT CATEGORY TAG"; help explains all commands`},
		{"vmotion paris-1-0000 d1-host-1", "VM paris-1-0000 moved from /dc-1/host/c1/c1-host-1 to /dc-2/host/d1/d1-host-1.\n"},
		{"vmotion paris-1-0000 /dc-1/host/c1/c1-host-1", "from /dc-2/host/d1/d1-host-1 to /dc-1/host/c1/c1-host-1.\n"},
		{"vmotion rome-1 d1-host-1", "VM \"rome-1\" not found: use\n  paris-1-0000\n"},
		{"vmotion paris-1-0000 x", `vCenter "paris" has no object "x"`},
		{"clone paris-1-0001 milan", "vCenter milan now has VM paris-1-0001-clone with the UUID of paris-1-0001 in vCenter paris. Both are running.\n  Ambiguous"},
		{"clone paris-1-0001 porto", `vCenter milan already has a VM "paris-1-0001-clone": destroy paris-1-0001-clone`},
		{"clone paris-1-0001 oslo", `vCenter "oslo" not found`},
		{"destroy paris-1-0001-clone", "VM paris-1-0001-clone was deleted. paris-1-0001 has the same UUID and is running, so the Node is ready.\n"},
		{"destroy rome-1", `VM "rome-1" not found`},
		{"hang oslo", `vCenter "oslo" not found`},
		{"recover oslo", `vCenter "oslo" not found`},
		{"join oslo", `vCenter "oslo" not found`},
		{"status all", `status: the usage is "status"; help explains all commands`},
		{"vMotion x y", `unknown command "vMotion": use help, status, vmotion, retag, clone, destroy, hang, recover, join, exit`},
		{"help", "  clone VM VCENTER                   create VM-clone in VCENTER and run it with the same UUID\n"},
		{"   ", ""},
	} {
		out.Reset()
		if err := w.execute(t.Context(), c.line); err != nil {
			t.Errorf("obeying %q: %v", c.line, err)
		}
		if !strings.Contains(out.String(), c.want) || (c.want == "") != (out.Len() == 0) {
			t.Errorf("%q printed\n%s\nwant a text with %q", c.line, out, c.want)
		}
	}
}

// TestRun: exit, the context and the end of the daemon end the demo. The end of the input does not: there
// may be none.
func TestRun(t *testing.T) {
	run := func(t *testing.T, in io.Reader, end func(cancel context.CancelFunc, ended chan struct{})) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			c := &console{out: io.Discard}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.run(ctx, in, ended)
			}()
			synctest.Wait()
			if end != nil {
				select {
				case <-done:
					t.Fatal("it has ended before")
				default:
				}
				end(cancel, ended)
				synctest.Wait()
			}
			select {
			case <-done:
			default:
				t.Error("it goes on")
				cancel()
			}
		})
	}
	t.Run("exit", func(t *testing.T) { run(t, strings.NewReader("help\nexit\nhelp\n"), nil) })
	t.Run("interrupted", func(t *testing.T) {
		run(t, strings.NewReader(""), func(cancel context.CancelFunc, _ chan struct{}) { cancel() })
	})
	t.Run("daemon ends", func(t *testing.T) {
		run(t, strings.NewReader("help\n"), func(_ context.CancelFunc, ended chan struct{}) { close(ended) })
	})
}
