package session_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// TestDensestTypes: a server chooses the type of a fault's detail, and before the login it may be any server.
func TestDensestTypes(t *testing.T) {
	for name, known := range map[string]types.Func{"of all": types.TypeFunc(), "of those that are read": session.KnownType} {
		t.Run(name, func(t *testing.T) {
			dense := vcentertest.Densest(t, known)
			t.Logf("%d bytes for each element %v of a %s", dense.Size, dense.Path, dense.Name)
			c := hostileAnswer{path: "/sdk", body: "RetrieveServiceContent"}
			for _, elements := range []int{99_000, 900_000} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := c.play(t, 30*time.Second, func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, faultOf(dense.Name, dense.Value(elements)))
				})
				runtime.ReadMemStats(&after)
				if err == nil || !strings.Contains(err.Error(), "made-up fault") && !strings.Contains(err.Error(), string(session.LargeAnswer)) {
					t.Errorf("connecting to a server that answers with a fault: %v, want its text", err)
				}
				// A slice that grows is allocated again each time.
				if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 150 {
					t.Errorf("%d elements allocated %d MiB, want at most 150", elements, n)
				}
			}
		})
	}
}

// faultOf returns an answer with a fault whose detail has the type.
func faultOf(kind, value string) string {
	return `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><Body><Fault>` +
		`<faultcode>ServerFaultCode</faultcode><faultstring>made-up fault</faultstring><detail><x xsi:type="` + kind + `">` + value + `</x></detail></Fault></Body></Envelope>`
}
