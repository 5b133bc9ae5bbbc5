// Package load reads configurations: strictly, with every default filled in and every
// mistake at its line.
//
// A format's reader, yaml.go or ini.go, turns text into raw values, each with the position where it was
// written. The decoder puts them into Sections by the one table of keys, config.Fields. Environment
// variables override what is there. The checker turns the Sections into a Config, wherever their values
// came from.
//
// The YAML format is that of the vSphere CPI (kubernetes/cloud-provider-vsphere), the INI
// format that of the CPI before, of the provider in Kubernetes itself before that, and of the
// vSphere CSI driver. What loads there loads here and means the same, apart from what
// docs/reference/compared-with-the-cpi.md lists.
//
// The package reads the configuration file and the CA files that it names, but not the
// directory with credentials. Reading keeps no state: it may be done again at each change of
// one of those files.
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

// Options say how a file is read other than by Parse.
type Options struct {
	// Environ are environment variables as os.Environ returns them; the vSphere CPI's among them override
	// the file.
	Environ []string
	// SkipFiles leaves the files unread that the configuration names, for where
	// they are not: they are in the daemon's Pod. CA is empty then.
	SkipFiles bool
	// ReadFile reads one of them, of at most that many bytes: for somebody who reads the
	// configuration of a Pod from elsewhere. Its errors are those of an open. Nil stands for the
	// files of this machine.
	ReadFile func(path string, most int64) ([]byte, error)
}

// Read reads and validates a configuration file, in whichever format it is, and
// the CA files that it names. The error of a file with mistakes is of type Errors and holds all of them; a file
// that cannot be read gives another error, which names the file.
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

// reader returns what files are read with.
func (o Options) reader() Reader {
	if o.ReadFile == nil {
		return config.ReadFileAtMost
	}
	return o.ReadFile
}

// Parse is Read with the content of the file at hand; file names it in
// messages. Relative paths in it are relative to the working directory.
func (o Options) Parse(file string, data []byte) (*config.Config, error) {
	d, err := o.Load(file, data)
	if err != nil {
		return nil, err
	}
	return d.Config, nil
}

// Document is a file without mistakes: its sections, and the Config that they mean.
type Document struct {
	Config *config.Config
	// Global, Topology and Nodes are sections of the file, with the environment, and VCenters its entries.
	Global, Topology, Nodes *Section
	VCenters                []*Section
	// Region and Zone are the rules of the two labels, Levels those of the others.
	Region, Zone *Section
	Levels       []*Section
	// Categories are those of the CSI driver's file, from which all labels come if they are set.
	Categories *Value
	// Fleet has a section for each of Config.VCenters, in the same order, with the inherited settings.
	Fleet []*Section
}

// checker turns sections into a Config, which is valid only if there are no errors afterwards.
type checker struct {
	*Problems
	*Document
	labels *Section
	// vcenters contains the entries. It is Bad if some of them could not be read.
	vcenters *Value
	fleet    fleetChecker
	policy   policyChecker
}

// Load reads and validates a file.
func (o Options) Load(file string, data []byte) (doc *Document, err error) {
	p := &Problems{File: file, Dialect: &YAML, stops: true}
	readText := readYAML
	if len(data) > config.MaxSize {
		p.Errorf(Position{}, "the file has %d bytes: at most %d can be read, which is what a ConfigMap holds", len(data), config.MaxSize)
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
		c.fleet.authorities.read = o.reader()
	}
	c.applyEnvironment(o.Environ)
	c.labelSections()
	c.VCenters = c.vcenters.Sections
	c.Config = c.makeConfig()
	if err := p.Err(); err != nil {
		return nil, err
	}
	c.Config.Warnings = Sorted(p.Warnings)
	if p.omitted > 0 {
		c.Config.Warnings = append(c.Config.Warnings, config.Warning{File: file, Line: max(c.Config.Warnings[maxProblems-1].Line, 1), Message: fmt.Sprintf("there are %d more warnings than these", p.omitted)})
	}
	return c.Document, nil
}

// newChecker returns a checker of the content of a file.
func newChecker(root *Section, p *Problems) *checker {
	one := values{Problems: p}
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
			values:      one,
			Document:    document,
			entries:     entries,
			authorities: &authorities{values: one, known: make(map[string]caFile)},
		},
		policy: policyChecker{values: one, Document: document, csiLabels: root.V("TopologyCategory").Sections},
	}
}

// labelSections finds the sections of the rules, which the environment can replace.
func (c *checker) labelSections() {
	c.Region = c.labels.sub("region")
	c.Region.Name = topology.LabelRegion
	c.Zone = c.labels.sub("zone")
	c.Zone.Name = topology.LabelZone
	c.Levels = c.Topology.V("levels").Sections
	c.Categories = c.labels.V(categories)
}

func (c *checker) makeConfig() *config.Config {
	cfg := &config.Config{File: c.File, VCenters: c.fleet.makeFleet(), NodeSelector: labels.Everything()}
	cfg.Files = c.fleet.authorities.files
	for _, s := range []*Section{c.Topology, c.Nodes} {
		c.policy.check(s)
		assign(s, cfg, nil)
	}
	c.policy.makePolicy(&cfg.Topology.Policy, cfg.VCenters)
	c.policy.excludedNetworks(&cfg.Addresses)
	cfg.NodeLabels = c.policy.nodeLabels(c.Nodes.V("labels"))
	return cfg
}

// assign puts the values of a section, or the defaults, into the result.
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
