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

// ChartValues renders values of the chart for a fleet and two tag categories. The credentials are in a Secret, the certificates
// beside the configuration.
func ChartValues(f *Fleet, region, zone string) string {
	var vcenters, cas, accounts strings.Builder
	for _, v := range f.VCenters() {
		fmt.Fprintf(&vcenters, "    %s:\n      server: %s\n      port: %d\n      caFile: /etc/cloud/%s.pem\n", v.Name(), v.Host(), v.Port(), v.Name())
		fmt.Fprintf(&cas, "  %s.pem: |\n%s", v.Name(), indented(string(v.Certificate()), "    "))
		fmt.Fprintf(&accounts, "    %s: {username: %s, password: %s}\n", v.Host(), v.User(), v.Password())
	}
	return fmt.Sprintf(`# For simulated vCenters.
image:
  repository: registry.example.com/vsphere-cloud-controller-manager
config:
  global:
    secretName: vsphere-cloud-secret
    secretNamespace: kube-system
  vcenter:
%s  labels:
    region: %s
    zone: %s
credentials:
  vsphere-cloud-secret:
%scertificateAuthorities:
%s`, &vcenters, region, zone, &accounts, &cas)
}

func indented(text, indent string) string {
	return indent + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+indent) + "\n"
}
