package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	format "vzones/cmd/vzones/recording"
)

// A vm is a VM of a recording, with what its Node should get.
type vm struct {
	vcenter, id, name, uuid string
	on, template, inVApp    bool
	isConnected             bool
	hasTools                bool // VMware Tools run
	hostName                string
	// addresses are usable IPv4 addresses, in the order of preference.
	addresses    []netip.Addr
	instanceType string
	// path and host are inventory paths.
	path, host   string
	region, zone string
	// reason is the reason of the Event about the Node, "" if it is initialized.
	reason  string
	address netip.Addr
	// isMisplaced means that the reason is the placement, isUncertain that another VM may be the Node's.
	isMisplaced, isUncertain bool
}

func (m *vm) node() string       { return m.vcenter + "-" + m.id }
func (m *vm) providerID() string { return "vsphere://" + m.uuid }

// swapped is the UUID as some guests report it, with the bytes of the first three fields reversed.
func (m *vm) swapped() string {
	u := m.uuid
	return u[6:8] + u[4:6] + u[2:4] + u[0:2] + "-" + u[11:13] + u[9:11] + "-" + u[16:18] + u[14:16] + u[18:]
}

// vms returns the VMs of a recording that have a configuration.
func (r *recording) vms(region, zone string) (all []*vm) {
	for _, ref := range r.order {
		id, found := strings.CutPrefix(ref, "VirtualMachine:")
		o := r.objects[ref]
		uuid := o["config"].text("uuid")
		if found && len(uuid) != 36 {
			r.hasUnreadable = true
		}
		if !found || len(uuid) != 36 {
			continue
		}
		guest := o["guest"]
		m := &vm{
			vcenter: r.name, id: id, name: o["name"].text(), uuid: strings.ToLower(uuid),
			on: o["runtime"].text("powerState") == "poweredOn", template: o["config"].text("template") == "true",
			hasTools: guest.text("toolsRunningStatus") == "guestToolsRunning",
			hostName: guest.text("hostName"), addresses: addressesOf(o["config"], guest), instanceType: instanceTypeOf(o["config"]),
		}
		m.path = r.path(ref)
		m.host = r.path(o["runtime"].reference("host"))
		m.isConnected = o["runtime"].text("connectionState") == "connected"
		m.inVApp = o["parent"] == nil
		m.region, m.zone, m.reason = r.placementOf(o, ref, region, zone)
		m.isMisplaced = m.reason != ""
		all = append(all, m)
	}
	return all
}

// placementOf follows the CSI driver's walk over three paths: of the host, of the resource pool, and of the VM.
func (r *recording) placementOf(o object, ref, region, zone string) (regionName, zoneName, reason string) {
	for _, start := range []string{o["runtime"].reference("host"), o["resourcePool"].reference(), ref} {
		var regions, zones []string
		for _, above := range r.above(start) {
			if names := r.tagsOn(above, region); len(names) > 0 {
				regions = names
			}
			if names := r.tagsOn(above, zone); len(names) > 0 {
				zones = names
			}
			if len(regions) > 0 && len(zones) > 0 {
				break
			}
		}
		switch {
		case len(regions) == 0 || len(zones) == 0:
			continue
		case len(regions) > 1 || len(zones) > 1:
			return "", "", "Ambiguous"
		case !labelValue.MatchString(regions[0]) || !labelValue.MatchString(zones[0]):
			return "", "", "TopologyInvalid"
		}
		return regions[0], zones[0], ""
	}
	if !r.hasCategory(region) || !r.hasCategory(zone) {
		return "", "", "CategoryNotFound"
	}
	return "", "", "TopologyMissing"
}

func (r *recording) hasCategory(name string) bool {
	return slices.ContainsFunc(r.tags.Categories, func(c format.Category) bool { return c.Name == name })
}

var labelValue = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)

// addressesOf returns the usable IPv4 addresses of a VM: those in its metadata first, then those of each
// interface, where addresses that may move to another VM come last.
func addressesOf(config, guest *element) []netip.Addr {
	var reported []netip.Addr
	nics := guest.all("net")
	for i := range nics {
		if nics[i].text("deviceConfigId") == "-1" {
			continue
		}
		firm, loose := ofInterface(&nics[i])
		reported = append(append(reported, firm...), loose...)
	}
	if a, err := netip.ParseAddr(guest.text("ipAddress")); err == nil && len(nics) == 0 && isUsable(a) {
		reported = append(reported, a)
	}
	var inOrder []netip.Addr
	for _, a := range append(metadataOf(config), reported...) {
		if slices.Contains(reported, a) && !slices.Contains(inOrder, a) {
			inOrder = append(inOrder, a)
		}
	}
	return inOrder
}

func isUsable(a netip.Addr) bool {
	return a.Is4() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsMulticast() && !a.IsUnspecified()
}

func ofInterface(nic *element) (firm, loose []netip.Addr) {
	details := map[string]element{}
	var texts []string
	for _, a := range nic.all("ipAddress") {
		texts = append(texts, strings.TrimSpace(a.Text))
	}
	for _, c := range nic.get("ipConfig").all("ipAddress") {
		details[c.text("ipAddress")] = c
		texts = append(texts, c.text("ipAddress"))
	}
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		detail := details[text]
		state := detail.text("state")
		origin := detail.text("origin")
		switch {
		case err != nil || !isUsable(a) || slices.Contains([]string{"invalid", "duplicate", "tentative"}, state):
		case slices.Contains([]string{"deprecated", "inaccessible"}, state), origin == "random",
			detail.text("prefixLength") == "32" && origin != "dhcp":
			loose = append(loose, a)
		default:
			firm = append(firm, a)
		}
	}
	return firm, loose
}

// metadataOf returns the addresses in the cloud-init network configuration of guestinfo.metadata.
func metadataOf(config *element) (addresses []netip.Addr) {
	values := map[string]string{}
	for _, option := range config.all("extraConfig") {
		values[option.text("key")] = option.text("value")
	}
	content := []byte(values["guestinfo.metadata"])
	if strings.Contains(values["guestinfo.metadata.encoding"], "b") { // base64, b64, gzip+base64 or gz+b64
		content, _ = base64.StdEncoding.DecodeString(string(content))
	}
	if unzipped, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
		content, _ = io.ReadAll(unzipped)
	}
	var metadata struct {
		Network struct {
			Ethernets yaml.Node
			Config    []struct{ Subnets []struct{ Address string } }
		}
	}
	if yaml.Unmarshal(content, &metadata) != nil {
		return nil
	}
	var texts []string
	for i := 1; i < len(metadata.Network.Ethernets.Content); i += 2 {
		var ethernet struct{ Addresses []string }
		if metadata.Network.Ethernets.Content[i].Decode(&ethernet) == nil {
			texts = append(texts, ethernet.Addresses...)
		}
	}
	for _, c := range metadata.Network.Config {
		for _, s := range c.Subnets {
			texts = append(texts, s.Address)
		}
	}
	for _, text := range texts {
		text, _, _ = strings.Cut(text, "/")
		if a, err := netip.ParseAddr(text); err == nil {
			addresses = append(addresses, a)
		}
	}
	return addresses
}

// osNames are the names in the instance types of the vSphere CPI (GuestOSLookup in its types.go) for the guest
// systems of the recordings. The names of other systems are not compared.
var osNames = map[string]string{
	"centos64Guest": "centos64", "centos6_64Guest": "centos6", "centos7_64Guest": "centos7", "centos8_64Guest": "unknown",
	"debian9_64Guest": "debian9", "debian10_64Guest": "debian10", "freebsd11_64Guest": "unknown", "freebsd12_64Guest": "unknown",
	"other26xLinux64Guest": "linux", "other3xLinux64Guest": "linux", "other4xLinux64Guest": "unknown", "otherLinuxGuest": "linux",
	"otherLinux64Guest": "linux", "otherGuest": "other", "otherGuest64": "other", "rhel4_64Guest": "rhel4", "rhel6_64Guest": "rhel6",
	"rhel7_64Guest": "rhel7", "sles11_64Guest": "sles11", "sles12_64Guest": "sles12", "suse64Guest": "suse", "ubuntu64Guest": "ubuntu",
	"vmkernel6Guest": "vmkernel6", "vmkernel65Guest": "vmkernel65", "vmkernel7Guest": "unknown", "vmwarePhoton64Guest": "photon",
	"winLonghorn64Guest": "winlonghorn", "windows8Server64Guest": "win8server", "windows9Server64Guest": "win10server", "windows9_64Guest": "win10",
}

// instanceTypeOf returns the instance type, without the system's name if osNames lacks it.
func instanceTypeOf(config *element) string {
	memory, _ := strconv.Atoi(config.text("hardware", "memoryMB"))
	return fmt.Sprintf("vsphere-vm.cpu-%s.mem-%dgb.os-%s", config.text("hardware", "numCPU"), memory/1024, osNames[config.text("guestId")])
}

var dnsName = regexp.MustCompile(`^(?i)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

// expectedHostName is the guest's host name, or the Node's name if that is no name of a single host.
func (m *vm) expectedHostName() string {
	first, _, _ := strings.Cut(m.hostName, ".")
	if !dnsName.MatchString(m.hostName) || strings.HasPrefix(first, "localhost") || strings.Trim(m.hostName, "0123456789.") == "" {
		return m.node()
	}
	return m.hostName
}
