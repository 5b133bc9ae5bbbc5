package watch

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"vzones/vcenter/inventory"
)

// faultServer answers every request with an unknown fault.
type faultServer struct{ calls atomic.Int64 }

func (e *faultServer) RoundTrip(context.Context, soap.HasFault, soap.HasFault) error {
	e.calls.Add(1)
	return soap.WrapSoapFault(&soap.Fault{Code: "ServerFaultCode", String: "made-up"})
}

func TestFaultIsLoggedOncePerVM(t *testing.T) {
	var out bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
	server := &faultServer{}
	w, _ := newWatch(server, nil)
	for range 10 {
		replies, err := w.homes.ask(ctx, map[string]bool{"vm-1": true, "vm-2": true})
		if err != nil || replies["vm-1"] != inventory.Hidden {
			t.Fatalf("the replies are %v, the error is %v", replies, err)
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 || server.calls.Load() != 20 {
		t.Errorf("%d lines after %d questions, want 2 after 20:\n%s", lines, server.calls.Load(), out.String())
	}
}
