package convert

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/gcfg.v1"
)

// driverFile is what the CSI driver reads of its file: pkg/common/config/types.go of
// kubernetes-sigs/vsphere-csi-driver, with what 3.3 and 3.6 added and what 3.6 has
// removed.
type driverFile struct {
	Global struct {
		ClusterID           string `gcfg:"cluster-id"`
		SupervisorID        string `gcfg:"supervisor-id"`
		User                string `gcfg:"user"`
		Password            string `gcfg:"password"`
		VCenterPort         string `gcfg:"port"`
		InsecureFlag        bool   `gcfg:"insecure-flag"`
		CAFile              string `gcfg:"ca-file"`
		Thumbprint          string `gcfg:"thumbprint"`
		Datacenters         string `gcfg:"datacenters"`
		CnsRegister         int    `gcfg:"cnsregistervolumes-cleanup-intervalinmin"`
		CnsPVCProtection    int    `gcfg:"cnspvcprotection-cleanup-intervalinmin"`
		CnsOperation        int    `gcfg:"cnsvolumeoperationrequest-cleanup-intervalinmin"`
		VolumeMigration     int    `gcfg:"volumemigration-cr-cleanup-intervalinmin"`
		VCClientTimeout     int    `gcfg:"vc-client-timeout"`
		AuthCheck           int    `gcfg:"csi-auth-check-intervalinmin"`
		PreferredDatastores int    `gcfg:"csi-fetch-preferred-datastores-intervalinmin"`
		ClusterDistribution string `gcfg:"cluster-distribution"`
		QueryLimit          int    `gcfg:"query-limit"`
		ListVolumeThreshold int    `gcfg:"list-volume-threshold"`
		SessionManager      string `gcfg:"vc-session-manager-url"`
		SessionToken        string `gcfg:"vc-session-manager-token"`
	}
	NetPermissions map[string]*struct {
		Ips         string `gcfg:"ips"`
		Permissions string `gcfg:"permissions"`
		RootSquash  bool   `gcfg:"rootsquash"`
	}
	VirtualCenter map[string]*driverVCenter
	Snapshot      struct {
		Global int `gcfg:"global-max-snapshots-per-block-volume"`
		VSAN   int `gcfg:"granular-max-snapshots-per-block-volume-vsan"`
		VVOL   int `gcfg:"granular-max-snapshots-per-block-volume-vvol"`
	}
	Labels struct {
		Zone               string `gcfg:"zone"`
		Region             string `gcfg:"region"`
		TopologyCategories string `gcfg:"topology-categories"`
	}
	TopologyCategory map[string]*struct {
		Label string `gcfg:"label"`
	}
}

type driverVCenter struct {
	User           string `gcfg:"user"`
	Password       string `gcfg:"password"`
	VCenterPort    string `gcfg:"port"`
	InsecureFlag   bool   `gcfg:"insecure-flag"`
	Datacenters    string `gcfg:"datacenters"`
	CAFile         string `gcfg:"ca-file"`
	Thumbprint     string `gcfg:"thumbprint"`
	FileShareURLs  string `gcfg:"targetvSANFileShareDatastoreURLs"`
	FileShares     string `gcfg:"targetvSANFileShareClusters"`
	MigrationURL   string `gcfg:"migration-datastore-url"`
	FileVolume     bool   `gcfg:"filevolumeactivated"`
	SessionManager string `gcfg:"vc-session-manager-url"`
	SessionToken   string `gcfg:"vc-session-manager-token"`
}

// readAsDriver fails on what the driver would not know.
func readAsDriver(t testing.TB, w *Written) driverFile {
	t.Helper()
	var d driverFile
	if err := gcfg.ReadStringInto(&d, w.Private.Reveal()); err != nil {
		t.Fatalf("gcfg: %v", err)
	}
	return d
}

var (
	driverUser  = regexp.MustCompile(`^(?:[a-zA-Z0-9.-]+\\[a-zA-Z0-9._-]+|[a-zA-Z0-9._-]+@[a-zA-Z0-9.-]+)$`)
	driverLabel = regexp.MustCompile(`^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`)
)

// driverRefusals are why the driver does not start with a file: the rules of
// validateConfig in pkg/common/config/config.go of 3.7.0, which has no session manager,
// in their order, and the API server's
// for the label that its csinodetopology_controller.go makes of each category.
var driverRefusals = []struct {
	why string
	of  func(d *driverFile) bool
}{
	{"no Virtual Center hosts defined", func(d *driverFile) bool { return len(d.VirtualCenter) == 0 }},
	{"max 5 vCenters are supported", func(d *driverFile) bool { return len(d.VirtualCenter) > 5 }},
	{"cluster id must not exceed 64 characters", func(d *driverFile) bool { return len(d.Global.ClusterID) > 64 }},
	{"supervisor id must not exceed 64 characters", func(d *driverFile) bool { return len(d.Global.SupervisorID) > 64 }},
	{"topology-categories for multi vCenter", func(d *driverFile) bool {
		return len(d.VirtualCenter) > 1 && strings.TrimSpace(d.Labels.TopologyCategories) == ""
	}},
	{"username is missing or invalid", func(d *driverFile) bool {
		return d.anyVCenter(func(vc *driverVCenter) bool {
			return !driverUser.MatchString(first(vc.User, d.Global.User))
		})
	}},
	{"password is missing", func(d *driverFile) bool {
		return d.anyVCenter(func(vc *driverVCenter) bool {
			return first(vc.Password, d.Global.Password) == ""
		})
	}},
	{"invalid value for Permissions", func(d *driverFile) bool {
		for _, p := range d.NetPermissions {
			if !slices.Contains([]string{"", "READ_WRITE", "READ_ONLY", "NO_ACCESS"}, p.Permissions) {
				return true
			}
		}
		return false
	}},
	{"zone and region beside topologyCategories", func(d *driverFile) bool {
		return strings.TrimSpace(d.Labels.TopologyCategories) != "" && strings.TrimSpace(d.Labels.Zone+d.Labels.Region) != ""
	}},
	{"maximum limit of topology categories", func(d *driverFile) bool { return strings.Count(d.Labels.TopologyCategories, ",") > 4 }},
	{"unrecognized topology label", func(d *driverFile) bool {
		for _, category := range d.TopologyCategory {
			domain, _, _ := strings.Cut(category.Label, "/")
			if !slices.Contains([]string{"failure-domain.beta.kubernetes.io", "topology.kubernetes.io", "topology.csi.vmware.com"}, domain) {
				return true
			}
		}
		return false
	}},
	{"the label is not a qualified name", func(d *driverFile) bool {
		for label := range d.labels() {
			_, name, _ := strings.Cut(label, "/")
			if len(name) > 63 || !driverLabel.MatchString(name) {
				return true
			}
		}
		return false
	}},
}

func (d *driverFile) anyVCenter(is func(vc *driverVCenter) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(d.VirtualCenter)), is)
}

// refused returns why the driver does not start with the file.
func (d *driverFile) refused() string {
	for _, r := range driverRefusals {
		if r.of(d) {
			return r.why
		}
	}
	return ""
}

func first(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// labels are those that the driver gives Nodes, each with its category.
func (d *driverFile) labels() map[string]string {
	labels := make(map[string]string)
	zone, region := strings.TrimSpace(d.Labels.Zone), strings.TrimSpace(d.Labels.Region)
	switch {
	case strings.TrimSpace(d.Labels.TopologyCategories) != "":
		for category := range strings.SplitSeq(d.Labels.TopologyCategories, ",") {
			labels["topology.csi.vmware.com/"+strings.TrimSpace(category)] = strings.TrimSpace(category)
		}
	case zone != "" && region != "":
		for key, category := range map[string]string{"zone": zone, "region": region} {
			label := "failure-domain.beta.kubernetes.io/" + key
			if info := d.TopologyCategory[category]; info != nil {
				label = info.Label
			}
			labels[label] = category
		}
	}
	return labels
}

// effective is what the driver makes of the file: validateConfig and
// GetVirtualCenterConfigs of pkg/common/cns-lib/vsphere/utils.go fill in what
// [Global] has, and NewClient of virtualcenter.go looks at a thumbprint where there is
// no CA file. A flag of [Global] counts for all.
func (d *driverFile) effective() driverFile {
	e := *d
	e.VirtualCenter = make(map[string]*driverVCenter)
	for server, own := range d.VirtualCenter {
		vc, global := *own, d.Global
		vc.User, vc.Password = first(vc.User, global.User), first(vc.Password, global.Password)
		vc.VCenterPort = first(vc.VCenterPort, global.VCenterPort, "443")
		vc.InsecureFlag = vc.InsecureFlag || global.InsecureFlag
		var paths []string
		for path := range strings.SplitSeq(first(vc.Datacenters, global.Datacenters), ",") {
			paths = append(paths, strings.TrimSpace(path))
		}
		vc.Datacenters = strings.Join(paths, ",")
		vc.CAFile, vc.Thumbprint = first(vc.CAFile, global.CAFile), first(vc.Thumbprint, global.Thumbprint)
		if vc.CAFile != "" {
			vc.Thumbprint = ""
		}
		if vc.InsecureFlag {
			vc.CAFile, vc.Thumbprint = "", ""
		}
		e.VirtualCenter[server] = &vc
	}
	g := &e.Global
	g.User, g.Password, g.VCenterPort, g.Datacenters, g.CAFile, g.Thumbprint, g.InsecureFlag = "", "", "", "", "", "", false
	e.TopologyCategory, e.Labels.TopologyCategories = nil, ""
	return e
}
