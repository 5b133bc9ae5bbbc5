package fleet

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// inventory creates and owns the objects of one vCenter. The simulator's own methods wait for
// tasks and copy templates of many kilobytes, some of them shared by all vCenters of a process,
// so most objects are created here.
type inventory struct {
	v     *VCenter
	ctx   *simulator.Context
	reg   *simulator.Registry
	index int // position of the vCenter in the fleet

	names   map[string][]types.ManagedObjectReference // objects by name, without fillers
	vms     []*simVM                                  // in the order of the description
	fillers []*mo.VirtualMachine
	made    int // number of VMs created so far
	dcs     map[string]*datacenter
	order   []*datacenter

	// hidden are the objects that the account cannot see; they are not in the registry.
	// hidings are the active calls of Hide, by the path or name that was given.
	hidden  map[types.ManagedObjectReference]mo.Entity
	hidings map[string]*hiding
}

type datacenter struct {
	spec     *DatacenterSpec
	vmFolder *simulator.Folder
	compute  []*compute // clusters first, then standalone hosts
}

// A compute is a cluster or a standalone host.
type compute struct {
	name  string // cluster name; "" for a standalone host
	root  *simulator.ResourcePool
	hosts []*simulator.HostSystem
	pools map[string]mo.Entity // resource pools and vApps
}

func (v *VCenter) build(spec *VCenterSpec, index int) error {
	v.world.Lock()
	defer v.world.Unlock()
	b := &inventory{
		v: v, ctx: v.sim.Context, reg: v.registry(), index: index,
		names: make(map[string][]types.ManagedObjectReference),
		dcs:   make(map[string]*datacenter), hidden: make(map[types.ManagedObjectReference]mo.Entity), hidings: make(map[string]*hiding),
	}
	v.inv = b
	if err := v.openTags(); err != nil {
		return err
	}
	for _, c := range spec.Categories {
		if err := v.category(c); err != nil {
			return err
		}
	}
	root := b.folderOf(v.rootFolder())
	if err := v.attachAll(root.Self, spec.Tags); err != nil {
		return err
	}
	for i := range spec.Datacenters {
		if err := b.datacenter(root, &spec.Datacenters[i]); err != nil {
			return fmt.Errorf("datacenter %q: %w", spec.Datacenters[i].Name, err)
		}
	}
	if err := b.folders(root, spec.Folders); err != nil {
		return err
	}
	for _, dc := range b.order {
		for i := range dc.spec.VMs {
			if err := b.vmsOf(dc, &dc.spec.VMs[i]); err != nil {
				return fmt.Errorf("VM %q: %w", dc.spec.VMs[i].Name, err)
			}
		}
	}
	b.fill(spec.Fillers)
	if spec.Recording != "" {
		return v.tagRecording(spec.Recording)
	}
	return nil
}

func (b *inventory) folderOf(ref types.ManagedObjectReference) *simulator.Folder {
	return b.entity(ref).(*simulator.Folder)
}

func (b *inventory) name(e mo.Entity) {
	name := e.Entity().Name
	b.names[name] = append(b.names[name], e.Reference())
}

func (b *inventory) child(parent *simulator.Folder, e mo.Entity) {
	b.reg.NewEntity(e)
	// Container views look for a new object below its folder when it is put.
	parent.ChildEntity = append(parent.ChildEntity, e.Reference())
	b.reg.PutEntity(parent, e)
}

// folder returns the folder at a path below parent and creates missing ones.
func (b *inventory) folder(parent *simulator.Folder, path string) (*simulator.Folder, error) {
	for _, name := range split(path) {
		if e := b.reg.FindByName(name, parent.ChildEntity); e != nil {
			f, ok := e.(*simulator.Folder)
			if !ok {
				return nil, fmt.Errorf("folder %q: %s is in its place", path, e.Reference())
			}
			parent = f
			continue
		}
		f := new(simulator.Folder)
		f.Name = name
		f.ChildType = parent.ChildType
		b.child(parent, f)
		b.name(f)
		parent = f
	}
	return parent, nil
}

func (b *inventory) folders(parent *simulator.Folder, specs []FolderSpec) error {
	for _, spec := range specs {
		f, err := b.folder(parent, spec.Path)
		if err != nil {
			return err
		}
		if err := b.v.attachAll(f.Self, spec.Tags); err != nil {
			return err
		}
	}
	return nil
}

func (b *inventory) datacenter(root *simulator.Folder, spec *DatacenterSpec) error {
	parent, err := b.folder(root, spec.Folder)
	if err != nil {
		return err
	}
	res := parent.CreateDatacenter(b.ctx, &types.CreateDatacenter{This: parent.Self, Name: spec.Name})
	if f := res.Fault(); f != nil {
		return fmt.Errorf("%T: %s", f.VimFault(), f.String)
	}
	obj := b.reg.Get(res.(*methods.CreateDatacenterBody).Res.Returnval).(*simulator.Datacenter)
	b.name(obj)
	if err := b.v.attachAll(obj.Self, spec.Tags); err != nil {
		return err
	}
	hostFolder := b.folderOf(obj.HostFolder)
	dc := &datacenter{spec: spec, vmFolder: b.folderOf(obj.VmFolder)}
	b.dcs[spec.Name] = dc
	b.order = append(b.order, dc)
	if err := b.folders(dc.vmFolder, spec.VMFolders); err != nil {
		return err
	}
	for i := range spec.Clusters {
		if err := b.cluster(dc, hostFolder, &spec.Clusters[i]); err != nil {
			return fmt.Errorf("cluster %q: %w", spec.Clusters[i].Name, err)
		}
	}
	for _, h := range spec.Hosts {
		if err := b.standalone(dc, hostFolder, h); err != nil {
			return fmt.Errorf("host %q: %w", h.Name, err)
		}
	}
	return nil
}

func (b *inventory) cluster(dc *datacenter, hostFolder *simulator.Folder, spec *ClusterSpec) error {
	obj := new(simulator.ClusterComputeResource)
	obj.Name = spec.Name
	obj.Summary = new(types.ClusterComputeResourceSummary)
	obj.ConfigurationEx = &types.ClusterConfigInfoEx{
		DrsConfig: types.ClusterDrsConfigInfo{Enabled: types.NewBool(true)},
		DasConfig: types.ClusterDasConfigInfo{Enabled: types.NewBool(true)},
	}
	b.child(hostFolder, obj)
	b.name(obj)
	c := &compute{name: spec.Name, pools: make(map[string]mo.Entity)}
	c.root = b.pool(obj, obj.Self, "Resources")
	obj.ResourcePool = &c.root.Self
	dc.compute = append(dc.compute, c)
	if err := b.v.attachAll(obj.Self, spec.Tags); err != nil {
		return err
	}
	for _, h := range spec.Hosts {
		if err := b.host(c, obj, &obj.ComputeResource, h); err != nil {
			return err
		}
	}
	for _, g := range spec.HostGroups {
		group := b.group(obj, g.Name)
		for _, name := range g.Hosts {
			group.Host = append(group.Host, c.host(name).Self)
		}
	}
	return b.pools(c, c.root, spec.Pools)
}

func (b *inventory) standalone(dc *datacenter, hostFolder *simulator.Folder, spec HostSpec) error {
	obj := new(mo.ComputeResource)
	obj.Name = spec.Name
	obj.Summary = new(types.ComputeResourceSummary)
	b.child(hostFolder, obj)
	c := &compute{}
	c.root = b.pool(obj, obj.Self, "Resources")
	obj.ResourcePool = &c.root.Self
	dc.compute = append(dc.compute, c)
	return b.host(c, obj, obj, spec)
}

// host adds a host to a cluster or to the compute resource of a standalone host. parent is that
// object as its type in the registry, cr the part of it that lists the hosts.
func (b *inventory) host(c *compute, parent mo.Entity, cr *mo.ComputeResource, spec HostSpec) error {
	h := new(simulator.HostSystem)
	h.Name = spec.Name
	h.Runtime.ConnectionState = types.HostSystemConnectionStateConnected
	h.Runtime.PowerState = types.HostSystemPowerStatePoweredOn
	h.Runtime.InMaintenanceMode = spec.Maintenance
	h.Summary.Config.Name = spec.Name
	h.Summary.Runtime = &h.Runtime
	h.Summary.Hardware = &types.HostHardwareSummary{
		Vendor: "VMware, Inc. (govmomi simulator)", Model: "VMware Virtual Platform",
		Uuid:       derivedUUID(b.v.name, "host/"+spec.Name),
		MemorySize: 256 << 30, CpuMhz: 2400, NumCpuPkgs: 2, NumCpuCores: 32, NumCpuThreads: 64, NumNics: 2,
	}
	h.Config = &types.HostConfigInfo{Network: new(types.HostNetworkInfo)} // read by the search index
	if spec.FaultDomain != "" {
		h.Config.VsanHostConfig = vsanConfig(spec.FaultDomain)
	}
	b.reg.NewEntity(h)
	// Clip it: the simulator appends to this list while it holds only a read lock.
	cr.Host = slices.Clip(append(cr.Host, h.Self))
	b.reg.PutEntity(parent, h)
	h.Summary.Host = &h.Self
	h.Config.Host = h.Self
	b.name(h)
	c.hosts = append(c.hosts, h)
	return b.v.attachAll(h.Self, spec.Tags)
}

func (b *inventory) pool(parent mo.Entity, owner types.ManagedObjectReference, name string) *simulator.ResourcePool {
	p := new(simulator.ResourcePool)
	p.Name = name
	p.Owner = owner
	p.Summary = &types.ResourcePoolSummary{Name: name}
	b.reg.NewEntity(p)
	b.reg.PutEntity(parent, p)
	return p
}

func (b *inventory) pools(c *compute, parent *simulator.ResourcePool, specs []PoolSpec) error {
	for _, spec := range specs {
		var made mo.Entity
		var below *simulator.ResourcePool
		if spec.VApp {
			made = b.vapp(parent, spec.Name)
		} else {
			below = b.pool(parent, parent.Owner, spec.Name)
			made = below
		}
		parent.ResourcePool.ResourcePool = slices.Clip(append(parent.ResourcePool.ResourcePool, made.Reference()))
		b.name(made)
		c.pools[spec.Name] = made
		if err := b.v.attachAll(made.Reference(), spec.Tags); err != nil {
			return err
		}
		if spec.VApp {
			continue // validate rejects pools below a vApp
		}
		if err := b.pools(c, below, spec.Pools); err != nil {
			return err
		}
	}
	return nil
}

func (b *inventory) vapp(parent *simulator.ResourcePool, name string) *simulator.VirtualApp {
	a := new(simulator.VirtualApp)
	a.Self.Type = "VirtualApp"
	a.Name = name
	a.Owner = parent.Owner
	a.Summary = &types.ResourcePoolSummary{Name: name}
	b.reg.NewEntity(a)
	b.reg.PutEntity(parent, a)
	return a
}

func (b *inventory) vmsIn(pool types.ManagedObjectReference) *[]types.ManagedObjectReference {
	switch p := b.entity(pool).(type) {
	case *simulator.VirtualApp:
		return &p.Vm
	case *simulator.ResourcePool:
		return &p.Vm
	}
	return new([]types.ManagedObjectReference)
}

// parentOf returns the parent of an object, nil for the root folder. A VM in a vApp has no
// folder; its parent is the vApp.
func (b *inventory) parentOf(e mo.Entity) mo.Entity {
	parent := e.Entity().Parent
	if vm, ok := e.(*mo.VirtualMachine); ok && parent == nil {
		parent = vm.ParentVApp
	}
	if parent == nil {
		return nil
	}
	return b.entity(*parent)
}

// derivedUUID returns a UUID that is the same in every run, differs between vCenters, and starts
// with 42 like the UUIDs that vCenter assigns.
func derivedUUID(vcenter, name string) string {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(vcenter+"\x00"+name))
	id[0] = 0x42
	return id.String()
}
