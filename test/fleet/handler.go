package fleet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

type response struct {
	status int
	header http.Header
	body   []byte
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) { r.status = status }

func (r *response) Write(p []byte) (int, error) {
	r.body = append(r.body, p...)
	return len(p), nil
}

// ServeHTTP counts a request, applies the faults of the vCenter and forwards the request to the
// simulator.
func (v *VCenter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// net/http notices a disconnected client only after the body is read.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	v.leaks.look(r, body)
	ctx := r.Context()
	r, api := restForm(r, body)
	kind, method := kindOf(r, body)
	v.requests.count(kind)
	defer v.peaks.enter(method)()
	v.gate(ctx, w, r)
	c := v.currentConditions()
	v.wait(ctx, c.delay+c.delays[kind])
	if isLogin(kind) {
		r = v.waitForLogin(r)
	}
	res := v.taggingFault(r, api, body)
	if res == nil {
		res = v.answer(r, kind, method, body)
	}
	v.sessions.observe(r, res)
	c = v.currentConditions()
	if odd := c.oddAnswer(kind); odd != nil {
		res = odd
	}
	if status := c.spoiledSessions[sessionOf(r)]; status != 0 {
		res = spoiledAnswer(r, status)
	}
	if isLogin(kind) {
		v.peaks.opened(v.Sessions())
	}
	v.gate(ctx, w, r) // the vCenter may have begun to hang in the meantime
	if api {
		res = apiForm(r, res)
	}
	for key, values := range res.header {
		w.Header()[key] = values
	}
	w.WriteHeader(res.status)
	v.requests.sent(len(res.body))
	_, _ = w.Write(res.body)
}

// gate blocks a request while the vCenter, or the tagging service it is for, hangs. It breaks the
// connection if the vCenter drops connections or the client has disconnected.
func (v *VCenter) gate(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	for {
		changed := v.wake.next()
		c := v.currentConditions()
		if c.drop {
			breakConnection(w)
		}
		hangs := c.hang || c.mode == taggingHangs && strings.HasPrefix(r.URL.Path, restCISPath)
		if !hangs && ctx.Err() == nil {
			return
		}
		select {
		case <-ctx.Done():
			panic(http.ErrAbortHandler)
		case <-changed:
		}
	}
}

// breakConnection closes the connection in the middle of a response. The only byte sent is a line
// feed, a valid start of both XML and JSON.
func breakConnection(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "65536")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, "\n")
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func (v *VCenter) wait(ctx context.Context, delay time.Duration) {
	if delay <= 0 {
		return
	}
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	case <-t.C:
	}
}

func (v *VCenter) answer(r *http.Request, kind, method string, body []byte) *response {
	c := v.currentConditions()
	status := c.status(kind)
	switch status {
	case 0:
	case http.StatusNotFound:
		return noSuchPath("/rest")
	default:
		return restError(status)
	}
	if method == "LoginByToken" && !v.supportsVersion(r.Header.Get("SOAPAction")) {
		return soapFault("vim25:VersionMismatchFaultCode", "Unsupported version URI &quot;"+r.Header.Get("SOAPAction")+"&quot;", "")
	}
	if kind == restLogin && c.rejectREST {
		return unauthenticated(http.StatusUnauthorized)
	}
	switch method {
	case "":
		return v.hideTags(r, v.rejectUnknown(r, body, v.simulated(r, body)))
	case "WaitForUpdatesEx":
		return v.removeUnreadable(method, v.poll(r, body))
	case "CancelWaitForUpdates", "DestroyPropertyCollector":
		v.longPolls.cancel(r, body)
	}
	if reads(method) {
		v.world.RLock()
		defer v.world.RUnlock()
	} else {
		v.world.Lock()
		defer v.world.Unlock()
	}
	var res *response
	switch method {
	case "ModifyListView":
		res = v.modifyList(r, body)
	case "RetrievePropertiesEx":
		res = v.simulated(r, c.limited(body))
	default:
		res = v.simulated(r, body)
	}
	if method == "CreateFilter" {
		v.recordFilter(res)
		v.wakeForFilters()
	}
	v.recordOwned(r, method, body, res)
	return v.removeUnreadable(method, v.blindedResponse(r, method, res))
}

// supportsVersion reports whether the vCenter lists the API version of a request's action. vCenter checks
// it for logins by token.
func (v *VCenter) supportsVersion(action string) bool {
	versions := v.simulated(v.internalRequest(http.MethodGet, vim25.Path+"/vimServiceVersions.xml"), nil)
	return bytes.Contains(versions.body, []byte("<version>"+strings.TrimPrefix(action, "urn:vim25/")+"</version>"))
}

func soapFault(code, text, detail string) *response {
	return &response{http.StatusInternalServerError, http.Header{"Content-Type": {"text/xml"}},
		[]byte(`<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:vim25="urn:vim25"><e:Body><e:Fault>` +
			`<faultcode>` + code + `</faultcode><faultstring>` + text + `</faultstring><detail>` + detail + `</detail></e:Fault></e:Body></e:Envelope>`)}
}

func reads(method string) bool {
	for _, prefix := range []string{"Retrieve", "ContinueRetrieve", "Find", "Query", "CurrentTime", "SessionIsActive"} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}

// simulated forwards a request to the simulator. A panic becomes a response; otherwise it would
// be lost in the server's log.
func (v *VCenter) simulated(r *http.Request, body []byte) (res *response) {
	res = &response{status: http.StatusOK, header: make(http.Header)}
	defer func() {
		if p := recover(); p != nil {
			res = &response{http.StatusInternalServerError, make(http.Header), fmt.Appendf(nil, "the simulator panicked: %v", p)}
		}
	}()
	inner := r.Clone(r.Context())
	inner.Body = io.NopCloser(bytes.NewReader(body))
	inner.ContentLength = int64(len(body))
	v.sim.ServeMux.ServeHTTP(res, inner)
	return res
}

// Operation IDs of requests that this package makes itself.
const (
	operationInternal = "fleet"          // no faults apply
	operationCanceled = "fleet-canceled" // answered with RequestCanceled
	operationListing  = "fleet-listing"  // answered with the fault of FaultListing
)

func (v *VCenter) intercept(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	switch m.Header.ID {
	case operationInternal:
		return nil, nil
	case operationCanceled:
		return nil, new(types.RequestCanceled)
	case operationListing:
		return nil, v.currentConditions().listFault
	}
	c := v.currentConditions()
	if fault := c.method(m.Name); fault != nil {
		return nil, fault
	}
	if strings.HasSuffix(m.Name, "_Task") || m.Name == "UnregisterVM" {
		return nil, new(types.NotSupported)
	}
	if ref, ok := c.lostObject(m); ok {
		return nil, &types.ManagedObjectNotFound{Obj: ref}
	}
	v.recordViews(ctx, m)
	if ref := v.forbidden(m); ref != nil && ctx.Session != nil {
		return nil, &types.NoPermission{Object: ref, PrivilegeId: "System.View"}
	}
	// The simulator allows property reads without a session.
	if ctx.Session == nil && (strings.HasPrefix(m.Name, "RetrieveProperties") || m.Name == "Fetch") {
		return nil, &types.NotAuthenticated{NoPermission: types.NoPermission{Object: &m.This, PrivilegeId: "System.View"}}
	}
	return nil, nil
}
