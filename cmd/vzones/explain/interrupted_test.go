package explain_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/explain"
	"vzones/test/fixture"
	"vzones/test/fleet/fleettest"
)

// searchMethod is the API call of both the first lookup and the direct search.
const searchMethod = "FindAllByUuid"

var errInterrupted = errors.New("interrupted")

// If Ctrl-C interrupts the direct search, the command fails without an explanation.
func TestInterruptedSearch(t *testing.T) {
	f := fleettest.Start(t, "vcenters:\n- name: east\n  datacenters:\n  - name: dc\n    clusters: [{name: c, hosts: 1}]\n")
	n := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gone", UID: "gone"}}
	n.Spec.ProviderID = "vsphere://422e4956-ad22-1139-6d72-59cc8f26bc90"
	t.Setenv("KUBECONFIG", fixture.ServeNodes(t, []v1.Node{n}))
	config := fleettest.WriteConfig(t, f, t.TempDir())
	v := f.VCenter("east")
	run := func(ctx context.Context) (string, error) {
		var out, errs bytes.Buffer
		cmd := explain.Command(&cli.Tool{Stdout: &out, Stderr: &errs})
		cmd.SilenceErrors = true
		cmd.SilenceUsage = true
		cmd.SetArgs([]string{"gone", "-c", config})
		err := cmd.ExecuteContext(ctx)
		return out.String(), err
	}
	v.ResetRequests()
	if out, err := run(t.Context()); !errors.Is(err, cli.ErrFindings) || out == "" {
		t.Fatalf("a Node whose VM is gone: got the error %v and the output %q, want an explanation with findings", err, out)
	}
	searches := v.Requests()[searchMethod]
	if searches < 2 {
		t.Fatalf("got %d searches, want at least 2", searches)
	}
	v.ResetRequests()
	v.DelayMethod(searchMethod, time.Minute)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		_ = wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) { return v.Requests()[searchMethod] >= searches, nil })
		cancel(errInterrupted)
	}()
	if out, err := run(ctx); !errors.Is(err, errInterrupted) || out != "" {
		t.Errorf("interrupted: got the error %v and the output %q, want no output", err, out)
	}
}
