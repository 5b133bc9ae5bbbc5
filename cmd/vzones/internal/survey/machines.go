package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/watch/model"
)

// ErrNoFolder says that a vCenter has nothing at the path of Query.Folder, or nothing that the
// account may see.
var ErrNoFolder = errors.New("there is nothing at the path, or the account may not see it")

const (
	machinesPerRequest = 1000
	// splitRequestsMax bounds the requests for finding out which machines cannot be read, where
	// the vCenter refuses all that are asked for together.
	splitRequestsMax = 64
)

// The properties of a machine that are read beside those that say where it is.
const (
	uuid      = "config.uuid"
	template  = "config.template"
	diskFlag  = "config.flags.diskUuidEnabled"
	tools     = "guest.toolsRunningStatus"
	host      = "runtime.host"
	power     = "runtime.powerState"
	diskKey   = `config.extraConfig["disk.EnableUUID"]`
	diskLower = `config.extraConfig["disk.enableUUID"]`
)

var machineProperties = []string{"name", "parent", "parentVApp", "resourcePool", uuid, template, diskFlag, diskKey, diskLower, tools, host, power}

// readMachines reads machines by their managed object IDs, and those below a folder. Those that
// were read are in the result whatever the error is.
func readMachines(ctx context.Context, s *session.Session, tree *model.Tree, vcenter string, ids []string, folder string) (map[string]*Machine, error) {
	if len(ids) == 0 && folder == "" {
		return nil, nil
	}
	read := map[types.ManagedObjectReference]*Machine{}
	each := func(o *types.ObjectContent) {
		tree.Add(o)
		if o.Obj.Type == "VirtualMachine" {
			read[o.Obj] = machineOf(vcenter, o)
		}
	}
	err := readNamed(ctx, s, ids, each)
	if folder != "" {
		err = quote.Errors(2, err, readBelow(ctx, s, folder, each))
	}
	machines := make(map[string]*Machine, len(read))
	for ref, m := range read {
		m.Path = quote.Text(tree.Path(ref))
		machines[ref.Value] = m
	}
	return machines, err
}

// readNamed reads machines. Of several that are refused together each half is read on its own: a
// machine that is gone is not in the result.
func readNamed(ctx context.Context, s *session.Session, ids []string, each func(*types.ObjectContent)) error {
	parts := slices.Collect(slices.Chunk(ids, machinesPerRequest))
	var errs []error
	for n := 0; len(parts) > 0; n++ {
		part := parts[0]
		parts = parts[1:]
		spec := machineSpec()
		for _, id := range part {
			spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: model.MachineRef(id), SelectSet: aboveMachine()})
		}
		err := s.Retrieve(ctx, spec, each)
		refused := faults.Gone(err) || faults.Denied(err)
		switch {
		case err == nil, faults.Gone(err) && len(part) == 1:
		case refused && len(part) > 1 && n < splitRequestsMax:
			parts = append(parts, part[:len(part)/2], part[len(part)/2:])
		case refused:
			errs = append(errs, fmt.Errorf("%s: %w", quote.Some(quoted(part), quote.Most), err))
		default:
			return err
		}
	}
	return quote.Errors(quote.Most, errs...)
}

func quoted(ids []string) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = quote.Plain(id)
	}
	return all
}

// readBelow reads all machines below the object at an inventory path.
func readBelow(ctx context.Context, s *session.Session, path string, each func(*types.ObjectContent)) error {
	client := s.Client()
	container := client.ServiceContent.RootFolder
	if trimmed := strings.Trim(path, "/"); trimmed != "" {
		res, err := methods.FindByInventoryPath(ctx, client, &types.FindByInventoryPath{This: *client.ServiceContent.SearchIndex, InventoryPath: trimmed})
		if err != nil {
			return fmt.Errorf("looking for %s: %w", quote.Name(path), err)
		}
		if res.Returnval == nil {
			return fmt.Errorf("%s: %w", quote.Name(path), ErrNoFolder)
		}
		container = *res.Returnval
	}
	err := inView(ctx, s, container, []string{"VirtualMachine"}, func(view types.ManagedObjectReference) error {
		spec := machineSpec()
		below := model.ViewSpec(view, "VirtualMachine").ObjectSet[0]
		below.SelectSet[0].(*types.TraversalSpec).SelectSet = aboveMachine()
		spec.ObjectSet = []types.ObjectSpec{below}
		return s.Retrieve(ctx, spec, each)
	})
	if err != nil {
		return fmt.Errorf("listing the machines below %s: %w", quote.Name(path), err)
	}
	return nil
}

func machineSpec() types.PropertyFilterSpec {
	return types.PropertyFilterSpec{PropSet: []types.PropertySpec{
		{Type: "ManagedEntity", PathSet: []string{"name", "parent"}},
		{Type: "VirtualMachine", PathSet: machineProperties},
	}}
}

// aboveMachine selects what is above a machine on the paths of its folder and its pool. That of
// its host was read with the hosts.
func aboveMachine() []types.BaseSelectionSpec {
	again := []types.BaseSelectionSpec{&types.SelectionSpec{Name: "up"}}
	return []types.BaseSelectionSpec{
		model.Upwards("up"),
		&types.TraversalSpec{Type: "VirtualMachine", Path: "resourcePool", SelectSet: again},
		&types.TraversalSpec{Type: "VirtualMachine", Path: "parentVApp", SelectSet: again},
	}
}

// machineOf returns a machine as it was read, without its path.
func machineOf(vcenter string, o *types.ObjectContent) *Machine {
	m := &Machine{Ref: topology.Ref{VCenter: vcenter, Type: o.Obj.Type, ID: o.Obj.Value}}
	var flag, key bool
	configured := false
	for _, p := range o.PropSet {
		switch p.Name {
		case "name":
			m.Name, _ = p.Val.(string)
		case uuid:
			m.UUID, configured = p.Val.(string)
		case template:
			m.Template, _ = p.Val.(bool)
		case diskFlag:
			flag, _ = p.Val.(bool)
		case diskKey, diskLower:
			key = key || isOn(p.Val)
		case tools:
			m.Tools, _ = p.Val.(string)
		case host:
			ref, _ := p.Val.(types.ManagedObjectReference)
			m.Host = ref.Value
		case power:
			m.PoweredOn = p.Val == types.VirtualMachinePowerStatePoweredOn
		}
	}
	if configured {
		on := flag || key
		m.DiskUUID = &on
	}
	return m
}

// isOn reports whether the value of a key of a machine's configuration is true.
func isOn(value any) bool {
	if option, whole := value.(types.OptionValue); whole {
		value = option.Value
	}
	text, _ := value.(string)
	return strings.EqualFold(text, "true") || text == "1"
}
