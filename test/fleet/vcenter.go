package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/cmd/vzones/recording"
)

// VCenter is one simulated vCenter. Its methods may be called concurrently.
type VCenter struct {
	name string
	user string
	// accounts are the additional accounts.
	accounts []AccountSpec

	identity identity
	server   *server
	sim      *simulator.Service
	tags     tagService

	state           state
	taggingRequests atomic.Int64 // number of requests to the tagging service in its current mode
	requests        requests
	sessions        sessions
	longPolls       longPolls
	watchedViews    watchedViews
	peaks           peaks
	owned           owned
	leaks           leaks
	wake            broadcast // notified when the inventory, the sessions or the faults change

	// world separates readers of the inventory from changes: the simulator's own locks leave
	// races between traversals and changes.
	world sync.RWMutex
	inv   *inventory // guarded by world
}

// Templates guards the simulator's templates.
var Templates = &recording.Templates

var licenseAssignments = types.ManagedObjectReference{Type: "LicenseAssignmentManager", Value: "LicenseAssignmentManager"}

func newVCenter(ctx context.Context, spec *VCenterSpec, index int) (*VCenter, error) {
	v := &VCenter{name: spec.Name, user: spec.User, accounts: spec.Accounts}
	v.state.password = spec.Password
	v.sessions.rest = map[string]bool{}
	v.sessions.issued = map[string]bool{}
	v.identity.name = spec.Name
	err := v.identity.renew(spec.Address, false)
	if err != nil {
		return nil, err
	}
	if v.server, err = newServer(ctx, spec.Address, spec.Port, v.identity.config(), v); err != nil {
		return nil, err
	}
	if err := v.simulate(spec); err != nil {
		v.server.close()
		return nil, err
	}
	if spec.Instance != "" {
		v.content().About.InstanceUuid = spec.Instance
	}
	if spec.ESXi {
		v.registry().Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.About.ApiType = "HostAgent"
		v.ServeAPI(false)
		v.ServeREST(false)
	}
	if err = v.build(spec, index); err == nil {
		err = v.server.start() //nolint:contextcheck // requests outlive the start
	}
	if err != nil {
		v.server.close()
		return nil, err
	}
	return v, nil
}

// simulate sets up the simulator like its NewServer, but without a listener and without
// process-wide state.
func (v *VCenter) simulate(spec *VCenterSpec) error {
	sctx, instance, err := v.serviceOf(spec)
	if err != nil {
		return err
	}
	reg := sctx.Map
	v.sim = simulator.New(sctx, instance)
	v.sim.Listen = v.URL()
	v.sim.RegisterSDK(reg, reg.Path+"/vimService")
	v.sim.ServeMux.HandleFunc(reg.Path+"/vimServiceVersions.xml", v.sim.ServiceVersions)

	sessions := reg.SessionManager()
	sessions.ServiceHostName = v.sim.Listen.Host
	sessions.TLS = func() *tls.Config {
		cert, _ := v.identity.current()
		return &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	sessions.ValidLogin = v.validLogin

	patterns, rest := vapi.New(v.sim.Listen, reg)
	for _, p := range patterns {
		v.sim.Handle(p, rest)
	}
	v.tags.handler = rest
	// For each new host this handler reads state that the start of another vCenter writes.
	if licenses, ok := reg.Get(licenseAssignments).(simulator.RegisterObject); ok {
		reg.RemoveHandler(licenses)
	}
	reg.Handler = v.intercept
	reg.AddHandler(watcher{&v.wake})
	return nil
}

// serviceOf returns a simulator with the objects of a recording, or with a root folder only.
func (v *VCenter) serviceOf(spec *VCenterSpec) (*simulator.Context, *simulator.ServiceInstance, error) {
	if spec.Recording != "" {
		return loadRecording(spec.Recording)
	}
	Templates.Lock()
	sctx, instance := simulator.NewServiceInstance(simulator.NewContext(), vpx.ServiceContent, vpx.RootFolder)
	Templates.Unlock()
	if spec.Version != "" {
		instance.Content.About.Version = spec.Version
		instance.Content.About.ApiVersion = spec.Version
	}
	instance.Content.About.InstanceUuid = uuid.NewSHA1(uuid.NameSpaceOID, []byte("vcenter/"+v.name)).String()
	return sctx, instance, nil
}

func (v *VCenter) registry() *simulator.Registry { return v.sim.Context.Map }

// Name returns the vCenter's name in the description.
func (v *VCenter) Name() string { return v.name }

// Host returns the listening address without the port.
func (v *VCenter) Host() string {
	host, _, _ := net.SplitHostPort(v.server.address())
	return host
}

// Port returns the listening port, which only SetAddress changes.
func (v *VCenter) Port() int {
	_, port, _ := net.SplitHostPort(v.server.address())
	n, _ := strconv.Atoi(port)
	return n
}

// URL returns the URL of the SOAP API with user name and password.
func (v *VCenter) URL() *url.URL {
	return &url.URL{Scheme: "https", Host: v.server.address(), Path: vim25.Path, User: url.UserPassword(v.User(), v.Password())}
}

// User returns the name of the main account, which SetPassword and similar methods change.
func (v *VCenter) User() string { return v.user }

// Accounts returns the additional accounts.
func (v *VCenter) Accounts() []AccountSpec { return v.accounts }

// ID returns the managed object ID of an object, named as for Tag.
func (v *VCenter) ID(object string) (string, error) {
	v.world.RLock()
	defer v.world.RUnlock()
	e, err := v.inv.find(object)
	if err != nil {
		return "", err
	}
	return e.Reference().Value, nil
}

// Password returns the account's current password.
func (v *VCenter) Password() string { return v.currentConditions().password }

// Certificate returns the server's current self-signed certificate in PEM form, which is its own
// CA.
func (v *VCenter) Certificate() []byte {
	_, pem := v.identity.current()
	return pem
}

// Leaf returns the parsed certificate.
func (v *VCenter) Leaf() *x509.Certificate {
	certificate, _ := v.identity.current()
	return certificate.Leaf
}

// InstanceUUID returns the instance UUID in the service content.
func (v *VCenter) InstanceUUID() string { return v.content().About.InstanceUuid }

func (v *VCenter) content() *types.ServiceContent {
	return &v.registry().Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content
}

func (v *VCenter) rootFolder() types.ManagedObjectReference { return v.content().RootFolder }

func (v *VCenter) validLogin(login *types.Login) bool {
	for _, a := range v.accounts {
		if login.UserName == a.User {
			return v.accepts(login.Password, a.Password)
		}
	}
	return login.UserName == v.user && v.accepts(login.Password, v.Password())
}

var _ http.Handler = (*VCenter)(nil)
