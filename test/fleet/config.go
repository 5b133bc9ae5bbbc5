package fleet

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// ConfigOptions choose what ConfigYAML renders.
type ConfigOptions struct {
	Region, Zone  string // tag categories; default region and zone
	CADir         string // where to write <name>.pem for each vCenter; "" for insecureFlag
	NoCredentials bool   // leave user and password out
	Datacenters   bool   // list the datacenters, by their inventory paths without the leading slash
}

// ConfigYAML renders the configuration file of the cloud controller manager for
// a fleet, in the YAML format of the vSphere CPI, with the vCenters in order.
func ConfigYAML(f *Fleet, opts ConfigOptions) ([]byte, error) {
	vcenters := &yaml.Node{Kind: yaml.MappingNode}
	for _, v := range f.VCenters() {
		entry, err := v.configEntry(opts)
		if err != nil {
			return nil, err
		}
		vcenters.Content = append(vcenters.Content, yamlOf(v.Name()), entry)
	}
	global := map[string]any{"insecureFlag": opts.CADir == ""}
	labels := map[string]string{"region": cmp.Or(opts.Region, "region"), "zone": cmp.Or(opts.Zone, "zone")}
	doc := &yaml.Node{Kind: yaml.MappingNode}
	for _, section := range []struct {
		key   string
		value any
	}{{"global", global}, {"vcenter", vcenters}, {"labels", labels}} {
		doc.Content = append(doc.Content, yamlOf(section.key), yamlOf(section.value))
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err := e.Encode(doc)
	return out.Bytes(), err
}

func (v *VCenter) configEntry(opts ConfigOptions) (*yaml.Node, error) {
	entry := struct {
		Server      string   `yaml:"server"`
		Port        int      `yaml:"port"`
		User        string   `yaml:"user,omitempty"`
		Password    string   `yaml:"password,omitempty"`
		CAFile      string   `yaml:"caFile,omitempty"`
		Datacenters []string `yaml:"datacenters,omitempty"`
	}{Server: v.Host(), Port: v.Port()}
	if !opts.NoCredentials {
		entry.User, entry.Password = v.User(), v.Password()
	}
	if opts.CADir != "" {
		entry.CAFile = filepath.Join(opts.CADir, v.Name()+".pem")
		if err := os.WriteFile(entry.CAFile, v.Certificate(), 0o600); err != nil {
			return nil, fmt.Errorf("fleet: certificate of vCenter %q: %w", v.Name(), err)
		}
	}
	if opts.Datacenters {
		v.world.RLock()
		for _, dc := range v.inv.order {
			path := append(split(dc.spec.Folder), dc.spec.Name)
			entry.Datacenters = append(entry.Datacenters, strings.Join(path, "/"))
		}
		v.world.RUnlock()
	}
	return yamlOf(entry), nil
}

// yamlOf returns a value as a node. It panics on one that YAML does not have.
func yamlOf(v any) *yaml.Node {
	n := new(yaml.Node)
	if err := n.Encode(v); err != nil {
		panic(fmt.Sprintf("fleet: %v", err))
	}
	return n
}
