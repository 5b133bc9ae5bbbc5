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
)

// VCenter is one simulated vCenter. Its methods may be called concurrently.
type VCenter struct {
	name string
	user string
	// accounts are further ones.
	accounts []AccountSpec

	identity identity
	server   *server
	sim      *simulator.Service
	tags     tagService

	state        state
	asked        atomic.Int64 // how often the tagging service was, since its mode began
	requests     requests
	sessions     sessions
	longPolls    longPolls
	watchedViews watchedViews
	peaks        peaks
	owned        owned
	leaks        leaks
	wake         broadcast // the inventory, the sessions or the faults changed

	// world orders what reads the inventory and what changes it: the
	// simulator's own locks leave races between traversals and changes.
	world sync.RWMutex
	inv   *inventory // guarded by world
}

// templates guards those of the simulator that a new instance writes to.
var templates sync.Mutex

var licenseAssignments = types.ManagedObjectReference{Type: "LicenseAssignmentManager", Value: "LicenseAssignmentManager"}

// newVCenter makes the index-th vCenter of a fleet and serves it.
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
	v.simulate(spec.Version)
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

// simulate wires up the simulator, as its own NewServer would, but for the
// listener and for what is global to the process.
func (v *VCenter) simulate(version string) {
	templates.Lock()
	sctx, instance := simulator.NewServiceInstance(simulator.NewContext(), vpx.ServiceContent, vpx.RootFolder)
	templates.Unlock()
	if version != "" {
		instance.Content.About.Version = version
		instance.Content.About.ApiVersion = version
	}
	instance.Content.About.InstanceUuid = uuid.NewSHA1(uuid.NameSpaceOID, []byte("vcenter/"+v.name)).String()
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
	// It reads, for each new host, what starting another vCenter writes.
	if licenses, ok := reg.Get(licenseAssignments).(simulator.RegisterObject); ok {
		reg.RemoveHandler(licenses)
	}
	reg.Handler = v.intercept
	reg.AddHandler(watcher{&v.wake})
}

func (v *VCenter) registry() *simulator.Registry { return v.sim.Context.Map }

// Name returns the vCenter's name in the description.
func (v *VCenter) Name() string { return v.name }

// Host returns the address that the vCenter listens on, without the port.
func (v *VCenter) Host() string {
	host, _, _ := net.SplitHostPort(v.server.address())
	return host
}

// Port returns the port that the vCenter listens on, the same until SetAddress.
func (v *VCenter) Port() int {
	_, port, _ := net.SplitHostPort(v.server.address())
	n, _ := strconv.Atoi(port)
	return n
}

// URL returns the address of the SOAP API, with user and password.
func (v *VCenter) URL() *url.URL {
	return &url.URL{Scheme: "https", Host: v.server.address(), Path: vim25.Path, User: url.UserPassword(v.User(), v.Password())}
}

// User returns the name of the account that SetPassword and the like are about.
func (v *VCenter) User() string { return v.user }

// Accounts returns the further ones.
func (v *VCenter) Accounts() []AccountSpec { return v.accounts }

// ID returns the managed object ID of an object, which is named as in Tag.
func (v *VCenter) ID(object string) (string, error) {
	v.world.RLock()
	defer v.world.RUnlock()
	e, err := v.inv.find(object)
	if err != nil {
		return "", err
	}
	return e.Reference().Value, nil
}

// Password returns the account's password as it is now.
func (v *VCenter) Password() string { return v.now().password }

// Certificate returns the server's self-signed certificate as it is now, PEM
// encoded, to be trusted as an authority.
func (v *VCenter) Certificate() []byte {
	_, pem := v.identity.current()
	return pem
}

// Leaf returns the same certificate, parsed.
func (v *VCenter) Leaf() *x509.Certificate {
	certificate, _ := v.identity.current()
	return certificate.Leaf
}

// InstanceUUID returns what the service content reports as the vCenter's UUID.
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
