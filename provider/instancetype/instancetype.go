// Package instancetype names the instance type of a machine, as the vSphere CPI does.
//
// It owns the form of the label's value and the names of guest systems. It compares nothing
// with Nodes, see package plan.
package instancetype

import (
	"fmt"
	"slices"

	"vzones/vcenter/inventory"
)

// Of returns the instance type of a machine in the vSphere CPI's form, so that the label
// keeps its meaning when vzones takes over a cluster.
func Of(m *inventory.Machine) string {
	return formatType(m, guestOS(m.GuestID))
}

// IfKnown returns the instance type, empty if the machine's configuration does not say all
// of it. The label of a running Node is compared with that.
func IfKnown(m *inventory.Machine) string {
	if m.CPUs <= 0 || m.MemoryMB <= 0 || m.GuestID == "" {
		return ""
	}
	return Of(m)
}

// Former returns what the vSphere CPI wrote before its 1.37 in place of IfKnown, empty
// where that is the same. A running Node may keep it.
func Former(m *inventory.Machine) string {
	if IfKnown(m) == "" || !slices.Contains(namedIn137, m.GuestID) {
		return ""
	}
	return formatType(m, unknownOS)
}

func formatType(m *inventory.Machine, os string) string {
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", m.CPUs, m.MemoryMB/1024, os)
}

// unknownOS stands for guest systems that have no name.
const unknownOS = "unknown"

// guestOS returns the incumbent's short name of a guest OS identifier.
func guestOS(id string) string {
	for _, os := range guestOSes {
		if slices.Contains(os.ids, id) {
			return os.name
		}
	}
	return unknownOS
}

// namedIn137 are the identifiers that the incumbent has a name for since its 1.37.
// Whatever gets a name later needs the same care: it must not change on running Nodes.
var namedIn137 = []string{"rhel8_64Guest", "rhel9_64Guest", "rhel10_64Guest"}

// guestOSes are the names that appear in the instance types of running
// clusters: those of the incumbent's 1.37. They follow no rule that identifiers
// could be put through: centos64Guest is centos64, fedora64Guest is fedora.
var guestOSes = []struct {
	name string
	ids  []string
}{
	{"asianux3", []string{"asianux3_64Guest", "asianux3Guest"}},
	{"asianux4", []string{"asianux4_64Guest", "asianux4Guest"}},
	{"asianux5", []string{"asianux5_64Guest"}},
	{"asianux7", []string{"asianux7_64Guest"}},
	{"centos", []string{"centosGuest"}},
	{"centos6", []string{"centos6_64Guest", "centos6Guest"}},
	{"centos7", []string{"centos7_64Guest", "centos7Guest"}},
	{"centos64", []string{"centos64Guest"}},
	{"coreos", []string{"coreos64Guest"}},
	{"darwin", []string{"darwinGuest", "darwin64Guest", "darwin10Guest", "darwin10_64Guest", "darwin11Guest", "darwin11_64Guest", "darwin12_64Guest", "darwin13_64Guest", "darwin14_64Guest", "darwin15_64Guest", "darwin16_64Guest"}},
	{"debian4", []string{"debian4_64Guest", "debian4Guest"}},
	{"debian5", []string{"debian5_64Guest", "debian5Guest"}},
	{"debian6", []string{"debian6_64Guest", "debian6Guest"}},
	{"debian7", []string{"debian7_64Guest", "debian7Guest"}},
	{"debian8", []string{"debian8_64Guest", "debian8Guest"}},
	{"debian9", []string{"debian9_64Guest", "debian9Guest"}},
	{"debian10", []string{"debian10_64Guest", "debian10Guest"}},
	{"dos", []string{"dosGuest"}},
	{"eComStation", []string{"eComStationGuest"}},
	{"eComStation2", []string{"eComStation2Guest"}},
	{"fedora", []string{"fedora64Guest", "fedoraGuest"}},
	{"freebsd", []string{"freebsd64Guest", "freebsdGuest"}},
	{"linux", []string{"genericLinuxGuest", "otherLinuxGuest", "otherLinux64Guest", "other24xLinuxGuest", "other24xLinux64Guest", "other26xLinuxGuest", "other26xLinux64Guest", "other3xLinuxGuest", "other3xLinux64Guest"}},
	{"mandrake", []string{"mandrakeGuest"}},
	{"mandriva", []string{"mandriva64Guest", "mandrivaGuest"}},
	{"netware4", []string{"netware4Guest"}},
	{"netware5", []string{"netware5Guest"}},
	{"netware6", []string{"netware6Guest"}},
	{"nld9", []string{"nld9Guest"}},
	{"oes", []string{"oesGuest"}},
	{"openServer5", []string{"openServer5Guest"}},
	{"openServer6", []string{"openServer6Guest"}},
	{"opensuse", []string{"opensuse64Guest", "opensuseGuest"}},
	{"oracleLinux", []string{"oracleLinux64Guest", "oracleLinuxGuest"}},
	{"oracleLinux6", []string{"oracleLinux6_64Guest", "oracleLinux6Guest"}},
	{"oracleLinux7", []string{"oracleLinux7_64Guest", "oracleLinux7Guest"}},
	{"os2", []string{"os2Guest"}},
	{"other", []string{"otherGuest", "otherGuest64"}},
	{"photon", []string{"vmwarePhoton64Guest"}},
	{"rhel", []string{"redhatGuest"}},
	{"rhel2", []string{"rhel2Guest"}},
	{"rhel3", []string{"rhel3_64Guest", "rhel3Guest"}},
	{"rhel4", []string{"rhel4_64Guest", "rhel4Guest"}},
	{"rhel5", []string{"rhel5_64Guest", "rhel5Guest"}},
	{"rhel6", []string{"rhel6_64Guest", "rhel6Guest"}},
	{"rhel7", []string{"rhel7_64Guest", "rhel7Guest"}},
	{"rhel8", []string{"rhel8_64Guest"}},
	{"rhel9", []string{"rhel9_64Guest"}},
	{"rhel10", []string{"rhel10_64Guest"}},
	{"sjds", []string{"sjdsGuest"}},
	{"sles", []string{"slesGuest"}},
	{"sles10", []string{"sles10_64Guest", "sles10Guest"}},
	{"sles11", []string{"sles11_64Guest", "sles11Guest"}},
	{"sles12", []string{"sles12_64Guest", "sles12Guest"}},
	{"sles64", []string{"sles64Guest"}},
	{"solaris6", []string{"solaris6Guest"}},
	{"solaris7", []string{"solaris7Guest"}},
	{"solaris8", []string{"solaris8Guest"}},
	{"solaris9", []string{"solaris9Guest"}},
	{"solaris10", []string{"solaris10_64Guest", "solaris10Guest"}},
	{"solaris11", []string{"solaris11_64Guest"}},
	{"suse", []string{"suse64Guest", "suseGuest"}},
	{"turbolinux", []string{"turboLinux64Guest", "turboLinuxGuest"}},
	{"ubuntu", []string{"ubuntu64Guest", "ubuntuGuest"}},
	{"unixware7", []string{"unixWare7Guest"}},
	{"vmkernel", []string{"vmkernelGuest"}},
	{"vmkernel5", []string{"vmkernel5Guest"}},
	{"vmkernel6", []string{"vmkernel6Guest"}},
	{"vmkernel65", []string{"vmkernel65Guest"}},
	{"win7", []string{"windows7_64Guest", "windows7Guest"}},
	{"win7server", []string{"windows7Server64Guest"}},
	{"win8", []string{"windows8_64Guest", "windows8Guest"}},
	{"win8server", []string{"windows8Server64Guest"}},
	{"win10", []string{"windows9_64Guest", "windows9Guest"}},
	{"win10server", []string{"windows9Server64Guest"}},
	{"win31", []string{"win31Guest"}},
	{"win95", []string{"win95Guest"}},
	{"win98", []string{"win98Guest"}},
	{"win2000advserv", []string{"win2000AdvServGuest"}},
	{"win2000pro", []string{"win2000ProGuest"}},
	{"win2000serv", []string{"win2000ServGuest"}},
	{"windowshyperv", []string{"windowsHyperVGuest"}},
	{"winlonghorn", []string{"winLonghorn64Guest", "winLonghornGuest"}},
	{"winme", []string{"winMeGuest"}},
	{"winnetbusiness", []string{"winNetBusinessGuest"}},
	{"winnetdatacenter", []string{"winNetDatacenter64Guest", "winNetDatacenterGuest"}},
	{"winnetenterprise", []string{"winNetEnterprise64Guest", "winNetEnterpriseGuest"}},
	{"winnetstandard", []string{"winNetStandard64Guest", "winNetStandardGuest"}},
	{"winnetweb", []string{"winNetWebGuest"}},
	{"winnt", []string{"winNTGuest"}},
	{"winvista", []string{"winVista64Guest", "winVistaGuest"}},
	{"winxphome", []string{"winXPHomeGuest"}},
	{"winxppro", []string{"winXPPro64Guest", "winXPProGuest"}},
}
