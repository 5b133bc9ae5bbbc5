package vcentertest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	_ "github.com/vmware/govmomi/lookup/simulator" // Registers its endpoint.
	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/sts/simulator" // Registers its endpoint.
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
)

const (
	// LookupPath is the path of the lookup service.
	LookupPath = "/lookupservice/sdk"
	// STSPath is the path of the token service.
	STSPath = "/sts/STSService"
)

// WithTokens starts govmomi's simulator with its lookup and token services behind a front.
func WithTokens(t *testing.T) (*Front, config.VCenter) {
	t.Helper()
	m := simulator.VPX()
	m.Host = 0
	m.Cluster = 0
	m.Machine = 0
	m.Datastore = 0
	m.Portgroup = 0
	t.Cleanup(m.Remove)
	fleet.Templates.Lock()
	defer fleet.Templates.Unlock()
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	// NewServer writes the server's address into the settings, which all simulators of the process share.
	options := m.Map().OptionManager()
	own := make([]types.BaseOptionValue, len(options.Setting))
	for i, o := range options.Setting {
		setting := *o.GetOptionValue()
		own[i] = &setting
	}
	options.Setting = own
	m.Service.RegisterEndpoints = true
	s := m.Service.NewServer()
	t.Cleanup(s.Close)
	inner := s.URL.Host
	f := NewFront(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		if r.URL.Path == STSPath {
			r.URL.Path += "/vsphere.local" // A vCenter has both paths.
		}
		m.Service.ServeMux.ServeHTTP(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		answer := bytes.ReplaceAll(rec.Body.Bytes(), []byte("http://"+inner), []byte("https://"+r.Host))
		_, _ = w.Write(answer)
	}))
	return f, f.VCenter(t)
}

// STSFault answers with a fault of the token service.
func STSFault(w http.ResponseWriter, code, text string) bool {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `<?xml version="1.0"?><S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><S:Fault xmlns:ns0="http://docs.oasis-open.org/ws-sx/ws-trust/200512/"><faultcode>ns0:`+
		code+`</faultcode><faultstring>`+text+`</faultstring></S:Fault></S:Body></S:Envelope>`)
	return true
}

// InvalidLogin answers with the fault InvalidLogin.
func InvalidLogin(w http.ResponseWriter) bool {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><e:Body><e:Fault><faultcode>ServerFaultCode</faultcode>`+
		`<faultstring>Cannot complete login</faultstring><detail><InvalidLoginFault xmlns="urn:vim25" xsi:type="InvalidLogin"/></detail></e:Fault></e:Body></e:Envelope>`)
	return true
}
