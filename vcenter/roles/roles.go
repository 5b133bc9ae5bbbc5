// Package roles reads and makes roles in one vCenter, for the operator's tool. It is the only package
// that changes anything in a vCenter, and the daemon does not use it. It grants no role to anybody.
package roles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/topology/quote"
	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
	"vzones/vcenter/panics"
	"vzones/vcenter/privileges"
	"vzones/vcenter/session"
)

const (
	// callTime bounds each request, loginTime a login, logoutTime the end of a session.
	callTime, loginTime, logoutTime = 15 * time.Second, 90 * time.Second, 3 * time.Second
)

// A Role is a set of privileges by name.
type Role struct {
	Name string
	// Privileges are in order. Each role has those of System.
	Privileges []string

	id int32
}

// Differs says how a role differs from what is wanted: further are the privileges that it has
// beside them, missing those that it does not have.
func (r *Role) Differs(wanted []string) (further, missing []string) {
	for _, p := range r.Privileges {
		if !slices.Contains(wanted, p) {
			further = append(further, p)
		}
	}
	for _, p := range wanted {
		if !slices.Contains(r.Privileges, p) {
			missing = append(missing, p)
		}
	}
	return further, missing
}

// A Connection is a session with one vCenter. It belongs to one goroutine, which closes it.
type Connection struct {
	vcenter string
	session *session.Session
	guard   *panics.Guard
}

// Open logs in to a vCenter, once.
func Open(ctx context.Context, cfg *config.VCenter, creds credentials.Credentials) (*Connection, error) {
	limits := session.LoginLimits{Failures: 1}
	c := &Connection{vcenter: cfg.Name, guard: &panics.Guard{}}
	e := session.NewEndpoint(cfg, session.Options{
		Timeout: callTime, LoginTimeout: loginTime, Observer: unobserved{}, Guard: c.guard,
		Throttle: session.NewLoginThrottle(limits, session.NewAccounts(limits)),
	})
	err := c.guard.Run(ctx, "logging in", func() (err error) {
		c.session, err = session.Open(ctx, e, creds)
		return err
	})
	if err != nil {
		return nil, c.failed(err)
	}
	return c, nil
}

// Close logs out, also when the context is done.
func (c *Connection) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTime)
	defer cancel()
	return c.guard.Run(ctx, "logging out", func() error { return c.session.Close(ctx) })
}

// Find returns the role of a name, nil if there is none.
func (c *Connection) Find(ctx context.Context, name string) (*Role, error) {
	manager, err := c.manager()
	if err != nil {
		return nil, err
	}
	var found *Role
	read := false
	err = c.guard.Run(ctx, "reading roles", func() error {
		return c.session.Retrieve(ctx, types.PropertyFilterSpec{
			PropSet:   []types.PropertySpec{{Type: manager.Type, PathSet: []string{"roleList"}}},
			ObjectSet: []types.ObjectSpec{{Obj: manager}},
		}, func(o *types.ObjectContent) {
			for _, p := range o.PropSet {
				roles, ok := p.Val.(types.ArrayOfAuthorizationRole)
				read = read || ok
				for _, r := range roles.AuthorizationRole {
					if r.Name == name {
						found = &Role{Name: r.Name, Privileges: slices.Sorted(slices.Values(r.Privilege)), id: r.RoleId}
					}
				}
			}
		})
	})
	switch {
	case err != nil:
		return nil, c.failed(fmt.Errorf("reading the roles: %w", err))
	case !read:
		return nil, c.failed(errors.New("the roles cannot be read: log in as a user who may see them"))
	}
	return found, nil
}

// Create makes a role.
func (c *Connection) Create(ctx context.Context, r Role) error {
	return c.write(ctx, "making the role", r, func(manager types.ManagedObjectReference) error {
		_, err := methods.AddAuthorizationRole(ctx, c.session.Client(), &types.AddAuthorizationRole{This: manager, Name: r.Name, PrivIds: further(r.Privileges)})
		return err
	})
}

// Update gives a role that Find has returned other privileges.
func (c *Connection) Update(ctx context.Context, r *Role, wanted []string) error {
	return c.write(ctx, "changing the role", *r, func(manager types.ManagedObjectReference) error {
		_, err := methods.UpdateAuthorizationRole(ctx, c.session.Client(), &types.UpdateAuthorizationRole{This: manager, RoleId: r.id, NewName: r.Name, PrivIds: further(wanted)})
		return err
	})
}

// further returns the privileges beside those that vCenter puts into each role.
func further(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(p string) bool { return slices.Contains(privileges.System(), p) })
}

func (c *Connection) write(ctx context.Context, doing string, r Role, do func(types.ManagedObjectReference) error) error {
	manager, err := c.manager()
	if err != nil {
		return err
	}
	err = c.guard.Run(ctx, doing, func() error { return do(manager) })
	switch {
	case err == nil:
		return nil
	case faults.Denied(err):
		return c.failed(fmt.Errorf("%s %s: the account may not, since it does not have the privilege Authorization.ModifyRoles: log in as an administrator with --user: %w", doing, quote.Value(r.Name), err))
	}
	return c.failed(fmt.Errorf("%s %s: %w", doing, quote.Value(r.Name), err))
}

func (c *Connection) manager() (types.ManagedObjectReference, error) {
	if ref := c.session.Client().ServiceContent.AuthorizationManager; ref != nil {
		return *ref, nil
	}
	return types.ManagedObjectReference{}, c.failed(errors.New("it has no authorization manager: is it a vCenter?"))
}

func (c *Connection) failed(err error) error {
	return fmt.Errorf("vCenter %q: %w", c.vcenter, faults.Printable{Err: err})
}

// unobserved is an Observer that does nothing.
type unobserved struct{}

func (unobserved) Requested(string, string, time.Duration, error) {}
func (unobserved) LoggedIn(string, error)                         {}
