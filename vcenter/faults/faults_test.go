package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

func causedBy(cause types.BaseMethodFault) types.BaseMethodFault {
	f := &types.SystemError{}
	f.FaultCause = &types.LocalizedMethodFault{Fault: cause}
	return f
}

func TestFaultsCountByWhatTheyExtend(t *testing.T) {
	for name, c := range map[string]struct {
		err                               error
		gone, denied, lost, login, secure bool
	}{
		"none":                         {err: nil},
		"no fault":                     {err: errors.New("NotAuthenticated")},
		"itself, by value":             {err: vcentertest.SOAPFault(types.InvalidLogin{}), login: true},
		"itself, by pointer":           {err: soap.WrapVimFault(&types.InvalidLogin{}), login: true},
		"extends it":                   {err: vcentertest.SOAPFault(types.PasswordExpired{}), login: true},
		"extends it in another way":    {err: vcentertest.SOAPFault(types.InvalidClientCertificate{}), login: true},
		"no permission":                {err: vcentertest.SOAPFault(types.NoPermission{}), denied: true, secure: true},
		"a lost session is not denied": {err: vcentertest.SOAPFault(types.NotAuthenticated{}), lost: true, secure: true},
		"gone":                         {err: vcentertest.SOAPFault(types.ManagedObjectNotFound{}), gone: true},
		"wrapped":                      {err: fmt.Errorf("a: %w", fmt.Errorf("b: %w", vcentertest.SOAPFault(types.NotAuthenticated{}))), lost: true, secure: true},
		"joined":                       {err: errors.Join(errors.New("a"), fmt.Errorf("b: %w", vcentertest.SOAPFault(types.PasswordExpired{}))), login: true},
		"a cause":                      {err: soap.WrapVimFault(causedBy(causedBy(&types.NotAuthenticated{}))), lost: true, secure: true},
		"another fault":                {err: soap.WrapVimFault(causedBy(&types.HostCommunication{}))},
		"a fault without detail":       {err: soap.WrapSoapFault(&soap.Fault{Code: "ServerFaultCode"})},
		"an error that wraps nothing":  {err: wrapsNothing{}},
	} {
		got := [5]bool{faults.Gone(c.err), faults.Denied(c.err), faults.SessionLost(c.err), faults.Is[types.BaseInvalidLogin](c.err), faults.Is[types.BaseSecurityError](c.err)}
		if want := [5]bool{c.gone, c.denied, c.lost, c.login, c.secure}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	f, ok := faults.Find[types.BaseNoPermission](vcentertest.SOAPFault(types.NotAuthenticated{NoPermission: types.NoPermission{PrivilegeId: "System.View"}}))
	if !ok || f.GetNoPermission().PrivilegeId != "System.View" {
		t.Errorf("Of NoPermission in a NotAuthenticated fault: %v, found %t, want the privilege System.View", f, ok)
	}
}

// wrapsNothing has a method Unwrap that returns nil.
type wrapsNothing struct{}

func (wrapsNothing) Error() string { return "made-up" }
func (wrapsNothing) Unwrap() error { return nil }

// TestOutage checks that an outage is logged once for each cause and ends.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o faults.Outage
		if _, ended := o.End(); ended {
			t.Error("what has not begun has ended")
		}
		for range 2 {
			for i, want := range []bool{true, false, true, false} {
				if got := o.Record([]inventory.Cause{"down", "down", "rejected", "down"}[i]); got != want {
					t.Errorf("cause number %d begins a part of the outage: %t, want %t", i, got, want)
				}
			}
			time.Sleep(time.Minute)
			if lasted, ended := o.End(); !ended || lasted != time.Minute {
				t.Errorf("the outage lasted %v, ended %t, want 1m0s and true", lasted, ended)
			}
		}
	})
}

func TestErrorsReadTheSameEachTime(t *testing.T) {
	for in, want := range map[string]string{
		"read tcp 10.0.0.1:43210->10.0.0.2:443: read: connection reset by peer": "read tcp 10.0.0.2:443: read: connection reset by peer",
		"read tcp [fd00::1]:43210->[fd00::2]:443: i/o timeout":                  "read tcp [fd00::2]:443: i/o timeout",
		"dial tcp 10.0.0.2:443: connect: connection refused":                    "dial tcp 10.0.0.2:443: connect: connection refused",
		`Post "https://10.0.0.2/sdk": context deadline exceeded`:                "no answer in time",
	} {
		if got := (faults.Printable{Err: errors.New(in)}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !errors.Is(faults.Printable{Err: io.EOF}, io.EOF) {
		t.Error("the cause is lost")
	}
}

// TestWhatErrorsDoNotPrint covers object IDs in vCenter's faults, which contain the session ID.
func TestWhatErrorsDoNotPrint(t *testing.T) {
	rejected := faults.Printable{Err: errors.New(`Post "https://10.0.0.1:443/sdk": dial tcp 10.0.0.1:443: connect: connection refused`)}
	if got, want := rejected.Error(), "dial tcp 10.0.0.1:443: connect: connection refused"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	cause := errors.New("read tcp 127.0.0.1:40113->10.0.0.1:443: the object 'ListView:session[7d624c84-d91d]52b0e1a1-0000' has been deleted")
	err := faults.Printable{Err: cause}
	if got, want := err.Error(), "read tcp 10.0.0.1:443: the object 'ListView:of the session' has been deleted"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}

// TestPanicsAreErrors checks that the error contains the place and the value of the panic.
func TestPanicsAreErrors(t *testing.T) {
	g := &faults.Guard{}
	err := g.Run(t.Context(), "here", func() error { var s *types.UpdateSet; _ = s.Version; return nil })
	if !faults.Recovered(err) || !strings.HasPrefix(err.Error(), "here: panic: runtime error: ") {
		t.Errorf("error %v", err)
	}
	want := errors.New("cause")
	if err := g.Run(t.Context(), "here", func() error { panic(want) }); !errors.Is(err, want) {
		t.Errorf("error %v", err)
	}
	if err := g.Run(t.Context(), "here", func() error { return want }); !errors.Is(err, want) || faults.Recovered(err) {
		t.Errorf("error %v", err)
	}
}

// TestEachPanicIsLoggedOnce even if a server alternates between two panics and chooses their texts.
func TestEachPanicIsLoggedOnce(t *testing.T) {
	var out bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
	g := &faults.Guard{}
	for i := range 100 {
		_ = g.Run(ctx, "here", func() error { panic(fmt.Sprintf("made-up %d\nmade-up", i)) })
		_ = g.Run(ctx, "there", func() error { panic(errors.New("made-up")) })
	}
	if n := strings.Count(out.String(), "Recovered from a panic"); n != 2 || !strings.Contains(out.String(), "TestEachPanicIsLoggedOnce.func1 faults_test.go:") {
		t.Errorf("%d panics are logged: %s", n, out.String())
	}
}

// TestPrintingTakesNoTime covers megabytes from a server, and checks that nothing secret is printed.
func TestPrintingTakesNoTime(t *testing.T) {
	for name, part := range map[string]string{
		"addresses":      "x:1-x:1-",
		"whole URLs":     `Post "https://made-up": `,
		"objects":        "session[made-up]made-up ",
		"open objects":   "session[made-up",
		"one long word":  "x",
		"line breaks":    "\n",
		"no UTF-8":       "\xff",
		"bidirectional":  "\u202e",
		"short of a URL": strings.Repeat("x", 4000) + `Post "https://made-up`,
	} {
		err := faults.Printable{Err: errors.New(strings.Repeat(part, 4<<20/len(part)))}
		text, took := "", time.Hour
		for range 5 { // The fastest counts, because the computer may be busy.
			began := time.Now()
			text = err.Error()
			took = min(took, time.Since(began))
		}
		if took > 200*time.Millisecond || len(text) > 1100 || strings.Contains(text, "made-up") {
			t.Errorf("%s: %v, %d bytes: %.200q", name, took, len(text), text)
		}
		for _, r := range text {
			if !strconv.IsPrint(r) {
				t.Errorf("the text of %s has a character that cannot be printed: %.200q", name, text)
				break
			}
		}
	}
}
