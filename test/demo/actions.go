package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vzones/test/fleet"
)

// firstDatacenter is one that each vCenter of the demo has.
const firstDatacenter = "dc-1"

const (
	describe  = "kubectl describe node "
	ofReason  = "kubectl -n default get events --field-selector reason="
	podEvents = "kubectl -n kube-system get events --field-selector involvedObject.kind=Pod"
	showNode  = "kubectl get node "
	zones     = "kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone"
)

func vmotion(_ context.Context, on *world, args []string) (outcome, error) {
	m, v, err := on.machine(args[0])
	if err != nil {
		return outcome{}, err
	}
	if err := host(v, args[1]); err != nil {
		return outcome{}, err
	}
	if err := v.MoveVM(m.Name, args[1]); err != nil {
		return outcome{}, err
	}
	now, err := v.Machine(m.Name)
	return outcome{fmt.Sprintf("vCenter %s: machine %s has moved from %s to %s.", v.Name(), m.Name, place(m), place(now)), describe + m.Name}, err
}

// place says where in its vCenter a machine is.
func place(m fleet.Machine) string { return "/" + m.Datacenter + "/host/" + m.Cluster + "/" + m.Host }

func retag(_ context.Context, on *world, args []string) (outcome, error) {
	v, err := on.vcenter(args[0])
	if err != nil {
		return outcome{}, err
	}
	object, category, tag := args[1], args[2], args[3]
	if categories := []string{regionCategory, zoneCategory}; !slices.Contains(categories, category) {
		return outcome{}, fmt.Errorf("there is no category %q; there are %s", category, strings.Join(categories, ", "))
	}
	if _, err := v.Reference(object); err != nil {
		return outcome{}, fmt.Errorf("vCenter %s has no object %q, or several of that name; its objects are\n  / (the root folder)\n  %s", v.Name(), object, strings.Join(v.Objects(), "\n  "))
	}
	if err := v.Retag(object, category, tag); err != nil {
		return outcome{}, err
	}
	return outcome{fmt.Sprintf("vCenter %s: %s has the tag %s of category %s, and no other one of it.", v.Name(), object, tag, category), ofReason + "TopologyDrift"}, nil
}

func hang(_ context.Context, on *world, args []string) (outcome, error) {
	v, err := on.vcenter(args[0])
	if err != nil {
		return outcome{}, err
	}
	v.Hang()
	return outcome{fmt.Sprintf("vCenter %s answers nothing.", v.Name()), ofReason + "VCenterUnreachable"}, nil
}

func recoverVCenter(_ context.Context, on *world, args []string) (outcome, error) {
	v, err := on.vcenter(args[0])
	if err != nil {
		return outcome{}, err
	}
	return outcome{fmt.Sprintf("vCenter %s answers.", v.Name()), zones}, answer(v) //nolint:contextcheck // it lasts longer than the command
}

// password ends the sessions too: one that is open goes on after a change of the password.
func password(_ context.Context, on *world, args []string) (outcome, error) {
	v, err := on.vcenter(args[0])
	if err != nil {
		return outcome{}, err
	}
	v.SetPassword(v.Password() + "-changed")
	v.EndSessions()
	return outcome{fmt.Sprintf("vCenter %s: the password of %s is another one, its sessions are ended, and the Secret has the old password.", v.Name(), v.User()), podEvents}, nil
}

func secret(ctx context.Context, on *world, _ []string) (outcome, error) {
	return outcome{"The Secret kube-system/vsphere-cloud-secret has the passwords of all vCenters as they are now.", podEvents}, on.stack.WriteSecret(ctx)
}

func clone(_ context.Context, on *world, args []string) (outcome, error) {
	m, _, err := on.machine(args[0])
	if err != nil {
		return outcome{}, err
	}
	v, err := on.vcenter(args[1])
	if err != nil {
		return outcome{}, err
	}
	name := m.Name + "-clone"
	if err := on.checkFree(name); err != nil {
		return outcome{}, err
	}
	if err := v.Create(firstDatacenter, fleet.VMSpec{Name: name, UUID: m.UUID, HostName: &m.HostName}); err != nil {
		return outcome{}, err
	}
	return outcome{fmt.Sprintf("vCenter %s has a machine %s with the UUID of %s in vCenter %s. Both run.", v.Name(), name, m.Name, m.VCenter), describe + m.Name}, nil
}

func destroy(ctx context.Context, on *world, args []string) (outcome, error) {
	m, v, err := on.machine(args[0])
	if err != nil {
		return outcome{}, err
	}
	if err := v.Destroy(m.Name); err != nil {
		return outcome{}, err
	}
	gone := fmt.Sprintf("vCenter %s: machine %s is deleted.", v.Name(), m.Name)
	if others := on.sharing(m.UUID); len(others) > 0 {
		return outcome{did: fmt.Sprintf("%s %s has the same UUID and runs, so the Node is ready.", gone, others[0].Name)}, nil
	}
	err = on.stack.Cluster.SetNodeReady(ctx, m.Name, v1.ConditionUnknown)
	if apierrors.IsNotFound(err) {
		return outcome{did: gone + " It had no Node."}, nil
	}
	return outcome{gone + " Node " + m.Name + " is not ready, since its kubelet is gone.", showNode + m.Name + " --ignore-not-found"}, err
}

func join(ctx context.Context, on *world, args []string) (outcome, error) {
	v, err := on.vcenter(args[0])
	if err != nil {
		return outcome{}, err
	}
	name := ""
	for i := 1; name == "" || on.checkFree(name) != nil; i++ {
		name = fmt.Sprintf("%s-new-%d", v.Name(), i)
	}
	if err := v.Create(firstDatacenter, fleet.VMSpec{Name: name}); err != nil {
		return outcome{}, err
	}
	m, err := v.Machine(name)
	if err != nil {
		return outcome{}, err
	}
	if err := on.stack.Register(ctx, m); err != nil {
		return outcome{}, err
	}
	return outcome{fmt.Sprintf("vCenter %s has a machine %s in %s, and its kubelet has registered the Node.", v.Name(), name, firstDatacenter), describe + name}, nil
}
