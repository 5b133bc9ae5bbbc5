package vcenter

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

// TestAnswersAtOnceThatAreTooLarge are asked for again with fewer objects.
func TestAnswersAtOnceThatAreTooLarge(t *testing.T) {
	t.Parallel()
	sim, f, cfg := vcentertest.EastBehindFront(t)
	sim.VCenter("east").LimitPages(1)
	sim.VCenter("east").Fault("ContinueRetrievePropertiesEx", &types.NoPermission{PrivilegeId: "System.Read"})
	f.Answer(func(w http.ResponseWriter, _ *http.Request, body string) bool {
		if !strings.Contains(body, "<RetrieveProperties ") || strings.Count(body, "<objectSet>") < 2 {
			return false
		}
		_, err := io.WriteString(w, strings.Repeat(" ", 9<<20))
		return err == nil
	})
	w := follow(t, sim, cfg, func(context.Context, *config.VCenter) (Credentials, error) {
		return Credentials{User: cfg.User, Password: cfg.Password}, nil
	}, slow)
	w.until("read", func(states []inventory.State) bool { return states[0].Snapshot != nil })
	session, n := w.fleet.Sessions()[0].Session, 0
	err := session.Retrieve(w.ctx, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: "ManagedEntity", PathSet: []string{"name"}}},
		ObjectSet: []types.ObjectSpec{{Obj: session.Client().ServiceContent.RootFolder}, {Obj: types.ManagedObjectReference{Type: "VirtualMachine", Value: w.moid("n1")}}},
	}, func(*types.ObjectContent) { n++ })
	if err != nil || n != 2 {
		t.Errorf("read %d objects, %v", n, err)
	}
}

// TestPagesThatAreTooLarge are asked for again with fewer objects, by which nothing is lost.
func TestPagesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	sim, f, cfg := vcentertest.EastBehindFront(t)
	f.Answer(func(w http.ResponseWriter, _ *http.Request, body string) bool {
		if !strings.Contains(body, ">1000</maxObject") {
			return false
		}
		_, err := io.WriteString(w, strings.Repeat(" ", 9<<20))
		return err == nil
	})
	w := follow(t, sim, cfg, func(context.Context, *config.VCenter) (Credentials, error) {
		return Credentials{User: cfg.User, Password: cfg.Password}, nil
	}, slow)
	id := w.id("n1")
	w.fleet.Follow([]inventory.Identity{id})
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(id) == "east/a" })
	n1, n := types.ManagedObjectReference{Type: "VirtualMachine", Value: w.moid("n1")}, 0
	err := w.fleet.Sessions()[0].Session.Retrieve(w.ctx, types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: n1.Type, PathSet: []string{"name"}}}, ObjectSet: []types.ObjectSpec{{Obj: n1}},
	}, func(*types.ObjectContent) { n++ })
	if err != nil || n != 1 {
		t.Errorf("read %d machines, %v", n, err)
	}
	for _, page := range []string{">1000</maxObjects>", ">100</maxObjects>", ">1000</maxObjectUpdates>", ">100</maxObjectUpdates>"} {
		if len(f.Requests("/sdk", page)) == 0 {
			t.Errorf("no page of %s was asked for", page)
		}
	}
}
