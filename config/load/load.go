// Package load reads configurations strictly: it fills in every default and reports every error at
// its line.
//
// A format's reader, yaml.go or ini.go, turns text into raw values with their positions. The decoder
// puts them into Sections according to the table config.Fields. Environment variables override them.
// The checker turns the Sections of either format into a Config.
//
// The formats belong to the vSphere CPI (kubernetes/cloud-provider-vsphere) and, for INI, to the
// in-tree provider and the vSphere CSI driver. A file means the same here, except as listed in
// docs/reference/compared-with-the-cpi.md.
package load

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"vzones/config"
	"vzones/topology"
)

// Options configure how a file is read.
type Options struct {
	// Environ are environment variables in the form of os.Environ, which override the file.
	Environ []string
	// SkipFiles leaves the CA files unread, so that VCenter.CA is empty if caFile is set.
	SkipFiles bool
	// ReadFile, if set, replaces config.ReadFileAtMost. It returns the errors of os.Open.
	ReadFile func(path string, most int64) ([]byte, error)
}

// Read reads and validates a configuration file in either format, and its CA files. An invalid file
// gives a config.Errors.
func (o Options) Read(path string) (*config.Config, error) {
	data, err := o.reader()(path, config.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return o.Parse(path, data)
}

// Parse is Options.Parse for tests.
func Parse(file string, data []byte, environ ...string) (*config.Config, error) {
	return Options{Environ: environ}.Parse(file, data)
}

func (o Options) reader() Reader {
	if o.ReadFile == nil {
		return config.ReadFileAtMost
	}
	return o.ReadFile
}

// Parse is like Read, for content that is already in memory. Messages contain file as its name.
func (o Options) Parse(file string, data []byte) (*config.Config, error) {
	d, err := o.Load(file, data)
	if err != nil {
		return nil, err
	}
	return d.Config, nil
}

// Document is a valid file and the resulting Config.
type Document struct {
	Config *config.Config
	// Global, Topology and Nodes are sections of the file, and VCenters its entries, with the
	// environment applied.
	Global, Topology, Nodes *Section
	VCenters                []*Section
	// Region, Zone and Levels are the rules of labels.
	Region, Zone *Section
	Levels       []*Section
	// Categories are the tag categories of a CSI driver's file. If set, all labels come from them.
	Categories *Value
	// EffectiveVCenters contains the section of each of Config.VCenters, with inherited settings.
	EffectiveVCenters []*Section
}

// checker turns sections into a Config, which is valid only if it reports no error.
type checker struct {
	*Problems
	*Document
	labels *Section
	// vcenters is Bad if an entry could not be read.
	vcenters *Value
	fleet    fleetChecker
	policy   policyChecker
}

// Load reads and validates a file.
func (o Options) Load(file string, data []byte) (doc *Document, err error) {
	p := &Problems{File: file, Dialect: &YAML, stops: true}
	readText := readYAML
	if len(data) > config.MaxSize {
		p.Errorf(Position{}, "the file has %d bytes: the limit is %d, the size of a ConfigMap", len(data), config.MaxSize)
		return nil, p.Err()
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			if _, ok := thrown.(stopped); !ok {
				panic(thrown)
			}
			doc = nil
			err = p.Err()
		}
	}()
	if IsINI(data) {
		p.Dialect = &INI
		readText = readINI
	}
	root := readText(data, p)
	if root == nil {
		return nil, p.Err()
	}
	c := newChecker(root, p)
	if !o.SkipFiles {
		c.fleet.ca.read = o.reader()
	}
	c.applyEnvironment(o.Environ)
	c.setLabelSections()
	c.VCenters = c.vcenters.Sections
	c.Config = c.makeConfig()
	if err := p.Err(); err != nil {
		return nil, err
	}
	c.Config.Warnings = Sorted(p.Warnings)
	if p.omitted > 0 {
		c.Config.Warnings = append(c.Config.Warnings, config.Warning{File: file, Line: max(c.Config.Warnings[maxProblems-1].Line, 1), Message: fmt.Sprintf("%d more warnings are omitted", p.omitted)})
	}
	return c.Document, nil
}

func newChecker(root *Section, p *Problems) *checker {
	checks := values{Problems: p}
	document := &Document{
		Global:   root.sub("global"),
		Topology: root.sub("topology"),
		Nodes:    root.sub("nodes"),
	}
	entries := root.V("vcenter")
	return &checker{
		Problems: p,
		Document: document,
		labels:   root.sub("labels"),
		vcenters: entries,
		fleet: fleetChecker{
			values:   checks,
			Document: document,
			entries:  entries,
			ca:       &caReader{values: checks, cache: make(map[string]caFile)},
		},
		policy: policyChecker{values: checks, Document: document, csiLabels: root.V("TopologyCategory").Sections},
	}
}

func (c *checker) setLabelSections() {
	c.Region = c.labels.sub("region")
	c.Region.Name = topology.LabelRegion
	c.Zone = c.labels.sub("zone")
	c.Zone.Name = topology.LabelZone
	c.Levels = c.Topology.V("levels").Sections
	c.Categories = c.labels.V(categories)
}

func (c *checker) makeConfig() *config.Config {
	cfg := &config.Config{File: c.File, VCenters: c.fleet.makeFleet(), NodeSelector: labels.Everything()}
	cfg.Files = c.fleet.ca.files
	for _, s := range []*Section{c.Topology, c.Nodes} {
		c.policy.check(s)
		assign(s, cfg, nil)
	}
	c.policy.makePolicy(&cfg.Topology.Policy, cfg.VCenters)
	c.policy.excludedNetworks(&cfg.Addresses)
	cfg.NodeLabels = c.policy.nodeLabels(c.Nodes.V("labels"))
	return cfg
}

func assign(s *Section, cfg *config.Config, vc *config.VCenter) {
	for _, f := range config.FieldsOf(s.In) {
		if f.Ref == nil {
			continue
		}
		data := s.V(f.Key).Data
		if !s.V(f.Key).Set || data == nil {
			data = f.Default
			switch f.Kind {
			case config.KindPaths:
				data = topology.DefaultPaths()
			case config.KindDuration:
				data, _ = time.ParseDuration(f.Default.(string))
			}
		}
		if list, ok := data.([]string); ok {
			data = slices.Clone(list)
		}
		if data != nil {
			into := reflect.ValueOf(f.Ref(cfg, vc)).Elem()
			into.Set(reflect.ValueOf(data).Convert(into.Type()))
		}
	}
}
