package fleet

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"
)

// ConfigOptions are the options of ConfigYAML.
type ConfigOptions struct {
	Region, Zone string // tag categories; default region and zone
	CADir        string // folder with <name>.pem of each vCenter
}

// ConfigYAML renders the cloud controller manager's configuration for a fleet in the YAML format
// of the vSphere CPI, with the vCenters in order.
func ConfigYAML(f *Fleet, opts ConfigOptions) ([]byte, error) {
	var doc struct {
		Global struct {
			InsecureFlag bool `yaml:"insecureFlag"`
		} `yaml:"global"`
		VCenter yaml.Node                     `yaml:"vcenter"`
		Labels  struct{ Region, Zone string } `yaml:"labels"`
	}
	doc.VCenter.Kind = yaml.MappingNode
	doc.Labels.Region = cmp.Or(opts.Region, "region")
	doc.Labels.Zone = cmp.Or(opts.Zone, "zone")
	for _, v := range f.VCenters() {
		file := filepath.Join(opts.CADir, v.Name()+".pem")
		if err := os.WriteFile(file, v.Certificate(), 0o600); err != nil {
			return nil, fmt.Errorf("fleet: certificate of vCenter %q: %w", v.Name(), err)
		}
		entry := new(yaml.Node)
		err := entry.Encode(struct {
			Server, User, Password string
			Port                   int
			CAFile                 string `yaml:"caFile"`
		}{v.Host(), v.User(), v.Password(), v.Port(), file})
		if err != nil {
			return nil, err
		}
		doc.VCenter.Content = append(doc.VCenter.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v.Name()}, entry)
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err := e.Encode(doc)
	return out.Bytes(), err
}
