package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// Spec describes a fleet of vCenters. See Parse for its YAML form.
type Spec struct {
	VCenters []VCenterSpec `yaml:"vcenters"`
}

// VCenterSpec describes one vCenter.
type VCenterSpec struct {
	Name        string           `yaml:"name"`     // required, unique in the fleet
	Address     string           `yaml:"address"`  // loopback IPv4 address to listen on; default 127.0.0.1
	Port        int              `yaml:"port"`     // listening port; default: a free port
	User        string           `yaml:"user"`     // default vzones@<name>.local
	Password    string           `yaml:"password"` // default pw-<name>
	Version     string           `yaml:"version"`  // product and API version; default: the simulator's
	Instance    string           `yaml:"instance"` // instance UUID; default: derived from the name
	ESXi        bool             `yaml:"esxi"`     // a standalone ESXi host: no REST sessions and no tags
	Accounts    []AccountSpec    `yaml:"accounts"` // additional accounts with the same permissions
	Categories  []CategorySpec   `yaml:"categories"`
	Tags        Tags             `yaml:"tags"`    // on the root folder
	Folders     []FolderSpec     `yaml:"folders"` // folders of datacenters
	Datacenters []DatacenterSpec `yaml:"datacenters"`
	Fillers     int              `yaml:"fillers"` // further powered-on VMs without a guest, spread over all hosts
	// Recording is a folder of govc object.save to load instead of a description, with the tags in
	// its file tags.yaml. Its objects cannot be named in methods, except in TagRecorded.
	Recording string `yaml:"recording"`
}

// AccountSpec describes an account.
type AccountSpec struct {
	User     string `yaml:"user"`
	Password string `yaml:"password"`
}

// CategorySpec describes a tag category. Categories used in Tags are created without it.
type CategorySpec struct {
	Name   string `yaml:"name"`
	Single bool   `yaml:"single"` // cardinality SINGLE; not enforced
	Types  Names  `yaml:"types"`  // object types that may have its tags, such as HostSystem; default: all
}

// DatacenterSpec describes a datacenter.
type DatacenterSpec struct {
	Name      string        `yaml:"name"`   // required
	Folder    string        `yaml:"folder"` // path below the root folder; default the root folder itself
	Tags      Tags          `yaml:"tags"`
	VMFolders []FolderSpec  `yaml:"vmFolders"`
	Hosts     Hosts         `yaml:"hosts"` // standalone hosts
	Clusters  []ClusterSpec `yaml:"clusters"`
	VMs       []VMSpec      `yaml:"vms"`
}

// FolderSpec describes a folder by its path below its parent. Folders named elsewhere are created
// without it.
type FolderSpec struct {
	Path string `yaml:"path"`
	Tags Tags   `yaml:"tags"`
}

// ClusterSpec describes a cluster.
type ClusterSpec struct {
	Name  string     `yaml:"name"` // required
	Tags  Tags       `yaml:"tags"`
	Hosts Hosts      `yaml:"hosts"`
	Pools []PoolSpec `yaml:"pools"` // below the root pool, Resources

	HostGroups []HostGroupSpec `yaml:"hostGroups"` // DRS host groups
}

// HostGroupSpec describes a DRS host group.
type HostGroupSpec struct {
	Name  string `yaml:"name"`
	Hosts Names  `yaml:"hosts"` // hosts of the same cluster
}

// HostSpec describes a host.
type HostSpec struct {
	Name        string `yaml:"name"`
	Tags        Tags   `yaml:"tags"`
	FaultDomain string `yaml:"faultDomain"` // vSAN fault domain; default: none
	Maintenance bool   `yaml:"maintenance"`
}

// PoolSpec describes a resource pool.
type PoolSpec struct {
	Name  string     `yaml:"name"`
	VApp  bool       `yaml:"vapp"` // a vApp; its VMs have no folder
	Tags  Tags       `yaml:"tags"`
	Pools []PoolSpec `yaml:"pools"`
}

// VMSpec describes a VM, or Count of them.
type VMSpec struct {
	Name  string `yaml:"name"`  // required, unique in the vCenter; a prefix if Count is set
	Count int    `yaml:"count"` // creates node-0000, node-0001, …, distributed over the cluster's hosts

	Cluster string `yaml:"cluster"` // default: the owner of Host or Pool, else the datacenter's first cluster
	Host    string `yaml:"host"`    // default: the cluster's first host
	Pool    string `yaml:"pool"`    // default: the root pool
	Folder  string `yaml:"folder"`  // path below the datacenter's vm folder

	UUID string `yaml:"uuid"` // BIOS UUID; default: derived from the names of vCenter and VM
	// InstanceUUID stays the same in a move to another vCenter; default: derived from the names of vCenter and VM.
	InstanceUUID string  `yaml:"instanceUUID"`
	HostName     *string `yaml:"hostname"`   // default: the VM's name; "": no VMware Tools
	Power        string  `yaml:"power"`      // on (default), off or suspended
	Connection   string  `yaml:"connection"` // connected (default), disconnected, inaccessible, orphaned or invalid
	Template     bool    `yaml:"template"`
	Unreadable   bool    `yaml:"unreadable"` // connected but without a configuration: see VCenter.SetReadable

	CPUs     int32  `yaml:"cpus"`     // default 4
	MemoryMB int32  `yaml:"memoryMB"` // default 8192
	GuestID  string `yaml:"guestID"`  // default ubuntu64Guest

	NICs        []NICSpec         `yaml:"nics"` // default: one
	ExtraConfig map[string]string `yaml:"extraConfig"`
	Metadata    string            `yaml:"metadata"`         // cloud-init metadata as YAML, stored in the extra config as guestinfo.metadata
	EnableUUID  bool              `yaml:"enableUUID"`       // disk.enableUUID
	Encoding    string            `yaml:"metadataEncoding"` // encoding of Metadata: base64 (default), gzip+base64 or plain
	Tags        Tags              `yaml:"tags"`
}

// NICSpec describes a network interface as VMware Tools report it.
type NICSpec struct {
	Network        string   `yaml:"network"`        // default VM Network
	MAC            string   `yaml:"mac"`            // default: derived from the VM's UUID
	IPs            []string `yaml:"ips"`            // ADDRESS or ADDRESS/BITS, by default 24 or 64 bits; default: an IPv4 address on the first interface, none on the rest
	DeviceConfigID *int32   `yaml:"deviceConfigId"` // default 4000, 4001, …; -1 for an interface internal to the guest
}

// Tags maps a tag category to the names of the attached tags.
type Tags map[string]Names

// Names is a list of names; in YAML also a single scalar.
type Names []string

// UnmarshalYAML reads a scalar or a list of scalars.
func (n *Names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*n = Names{node.Value}
		return nil
	}
	return node.Decode((*[]string)(n))
}

// Hosts is a list of hosts; in YAML also a number of hosts with generated names, or a list of names.
type Hosts []HostSpec

// UnmarshalYAML reads a number, or a list of names and mappings.
func (h *Hosts) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		n, err := strconv.Atoi(node.Value)
		if err != nil || n < 0 {
			return fmt.Errorf("line %d: hosts is a number or a list, not %q", node.Line, node.Value)
		}
		*h = make(Hosts, n)
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: hosts is a number or a list", node.Line)
	}
	for _, item := range node.Content {
		host, err := decodeHost(item)
		if err != nil {
			return err
		}
		*h = append(*h, host)
	}
	return nil
}

func decodeHost(node *yaml.Node) (HostSpec, error) {
	if node.Kind == yaml.ScalarNode {
		return HostSpec{Name: node.Value}, nil
	}
	// Node.Decode does not inherit KnownFields.
	if node.Kind == yaml.MappingNode {
		for i := 0; i < len(node.Content); i += 2 {
			if key := node.Content[i]; !slices.Contains([]string{"name", "tags", "faultDomain", "maintenance"}, key.Value) {
				return HostSpec{}, fmt.Errorf("line %d: field %s not found in a host", key.Line, key.Value)
			}
		}
	}
	var host HostSpec
	err := node.Decode(&host)
	return host, err
}

// Parse reads a description:
//
//	vcenters:
//	- name: east
//	  accounts: [{user: b, password: pw-b}]
//	  tags: {region: east}            # on the root folder; category: tag, or [tag, tag]
//	  folders:                        # folders of datacenters, to tag them
//	  - {path: prod, tags: {region: east}}
//	  fillers: 2000                   # further VMs, to make the vCenter large
//	  datacenters:
//	  - name: dc1
//	    folder: prod/site-a           # created if it does not exist
//	    tags: {zone: a}
//	    vmFolders: [{path: a/b, tags: {team: blue}}]
//	    hosts: [esx-1]                # standalone hosts
//	    clusters:
//	    - name: c1
//	      tags: {zone: b}
//	      hosts: 2                    # or a list of names, or of {name, tags, faultDomain}
//	      hostGroups: [{name: site-a, hosts: [c1-host-1]}]
//	      pools: [{name: p, tags: {…}, pools: […]}, {name: app, vapp: true}]
//	    vms:
//	    - name: node-1
//	      pool: p
//	      nics: [{ips: ["10.0.0.1", "fd00::1"]}]
//	    - {name: worker, count: 100, cluster: c1}
//
// The fields of the types document the rest. Unknown fields and missing, duplicate or unknown names
// are errors; all errors are joined.
func Parse(data []byte) (*Spec, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	spec := new(Spec)
	if err := dec.Decode(spec); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if err := spec.complete(); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return spec, nil
}
