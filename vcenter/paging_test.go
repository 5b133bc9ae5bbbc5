package vcenter

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

// TestFurtherPagesAreDenied: vCenters from 7.0.3.2 to 8.0.2 let an account with
// System.View alone on the root folder have the first page of an answer and not the
// next. What takes several pages is then read at once, and each object counts once.
func TestFurtherPagesAreDenied(t *testing.T) {
	t.Parallel()
	w := run(t, twoVCenters, quick, func(sim *fleet.Fleet, cfgs []config.VCenter) {
		cfgs[0].Datacenters = []string{"dc1", "dc2"}
		sim.VCenter("east").LimitPages(1)
		sim.VCenter("east").Fault("ContinueRetrievePropertiesEx", &types.NoPermission{PrivilegeId: "System.Read"})
	})
	n1, n2 := w.id("n1"), w.id("n2")
	named := inventory.Identity{Name: "n3"}
	w.fleet.Follow([]inventory.Identity{n1, n2, named})
	for id, zone := range map[*inventory.Identity]string{&n1: "east/a", &n2: "east/b", &named: "east/c"} {
		w.until(id.String()+" placed", func(states []inventory.State) bool {
			if states[0].Err != nil {
				t.Fatalf("error: %v", states[0].Err)
			}
			return w.zone(*id) == zone
		})
	}
	east := w.sim.VCenter("east")
	if n := east.Requests()["ContinueRetrievePropertiesEx"]; n != 1 {
		t.Errorf("a further page was asked for %d times in one session", n)
	}
	if n := east.Requests()["RetrieveProperties"]; n == 0 {
		t.Error("nothing was read at once")
	}
}

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

// TestCategoriesMayNotBeListed: tags that are attached are known all the same, and a
// category that none of them has is one that the vCenter does not show.
func TestCategoriesMayNotBeListed(t *testing.T) {
	t.Parallel()
	opts := quick
	opts.Categories = []string{"region", "zone", "rack"}
	w := run(t, twoVCenters, opts, func(sim *fleet.Fleet, _ []config.VCenter) {
		sim.VCenter("east").FaultREST("GET /com/vmware/cis/tagging/category", 403)
	})
	n1 := w.id("n1")
	w.fleet.Follow([]inventory.Identity{n1})
	w.until("n1 placed", func([]inventory.State) bool { return w.zone(n1) == "east/a" })
	if got := w.fleet.States()[0].Snapshot.InvisibleCategories; len(got) != 1 || got[0] != "rack" {
		t.Errorf("not shown are %v", got)
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
