package config

import (
	"errors"
	"path"
	"slices"
	"strings"

	"vzones/topology"
)

// A DatacenterForm is how an element of VCenter.Datacenters is read. The CPI hands it to
// govmomi's finder, which takes the same forms.
type DatacenterForm int

const (
	// DatacenterName is a name, of however many datacenters, in folders or not.
	DatacenterName DatacenterForm = iota
	// DatacenterNameOrID is a name too, or else the managed object ID that it looks like.
	DatacenterNameOrID
	// DatacenterNamePattern is a pattern of names.
	DatacenterNamePattern
	// DatacenterPath is an inventory path, from the root folder on.
	DatacenterPath
	// DatacenterPathPattern is a pattern of inventory paths, element by element.
	DatacenterPathPattern
	// DatacenterReference is a managed object reference.
	DatacenterReference
)

// String says what such an element stands for.
func (f DatacenterForm) String() string {
	switch f {
	case DatacenterNameOrID:
		return "the name of a datacenter, or else, where none has it, its managed object ID"
	case DatacenterNamePattern:
		return "a pattern of names of datacenters, in any folder"
	case DatacenterPath:
		return "the inventory path of a datacenter"
	case DatacenterPathPattern:
		return "a pattern of inventory paths of datacenters, from the root folder on"
	case DatacenterReference:
		return "the managed object reference of a datacenter"
	}
	return "the name of a datacenter, in any folder"
}

const (
	// datacenterType begins a managed object reference, datacenterID an ID.
	datacenterType, datacenterID = "Datacenter:", "datacenter-"
	// anyDepth as the last element of a path stands for everything below.
	anyDepth = "..."
)

var (
	errPattern = errors.New("is a malformed pattern: close each [ with ], have something between the two, and write \\ before one that is meant itself")
	errUpwards = errors.New("leads upwards by ..: write the path from the root folder on")
)

// datacenter is an element of VCenter.Datacenters as it is read.
type datacenter struct {
	text string
	form DatacenterForm
	// elements are those of a path.
	elements []string
	// deep reports whether datacenters at any depth below elements are meant.
	deep bool
}

// FormOfDatacenter returns how an element of VCenter.Datacenters is read. The error says
// what is wrong with one that a configuration does not have.
func FormOfDatacenter(element string) (DatacenterForm, error) {
	d, err := readDatacenter(element)
	return d.form, err
}

func readDatacenter(s string) (datacenter, error) {
	d := datacenter{text: s}
	pattern := strings.ContainsAny(s, "*?[")
	switch {
	case strings.HasPrefix(s, datacenterType) && isDatacenterID(s[len(datacenterType):]):
		d.form = DatacenterReference
		return d, nil
	case !strings.Contains(s, "/"):
		switch {
		case pattern:
			d.form = DatacenterNamePattern
		case isDatacenterID(s):
			d.form = DatacenterNameOrID
		}
		if pattern && malformed(s) {
			return d, errPattern
		}
		return d, nil
	}
	d.form = DatacenterPath
	for _, element := range strings.Split(s, "/") {
		switch {
		case element == "" || element == ".":
			continue
		case element == "..":
			return d, errUpwards
		case pattern && malformed(element):
			return d, errPattern
		}
		d.elements = append(d.elements, element)
	}
	if n := len(d.elements); n > 0 && d.elements[n-1] == anyDepth {
		d.elements, d.deep = d.elements[:n-1], true
	}
	if pattern || d.deep {
		d.form = DatacenterPathPattern
	}
	return d, nil
}

func malformed(pattern string) bool { _, err := path.Match(pattern, ""); return err != nil }

// isDatacenterID reports whether a text looks like the managed object ID of a datacenter.
func isDatacenterID(s string) bool {
	digits, ok := strings.CutPrefix(s, datacenterID)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// A Datacenter is one of a vCenter, with all that a configuration can name it by.
type Datacenter struct {
	// ID is its managed object ID.
	ID string
	// Name is its name, and Path its inventory path, with the escapes of vSphere: %2f, %5c
	// and %25.
	Name, Path string
}

// MatchDatacenters returns which datacenters are meant by what is configured: for each
// element those that it means, in the order of all, and each once. Unmatched are the
// elements that mean none. A name that is written as vSphere shows it or as it escapes it
// is the same, and so is an element of a path.
func MatchDatacenters(elements []string, all []Datacenter) (matched []Datacenter, unmatched []string) {
	for _, element := range elements {
		d, err := readDatacenter(element)
		means := []func(*Datacenter) bool{d.named}
		if err == nil {
			means = append(means, d.matches)
		}
		if d.form == DatacenterNameOrID {
			means = append(means, d.identified)
		}
		found := false
		for i, is := range means {
			if found && d.form == DatacenterNameOrID && i == len(means)-1 {
				break // the ID counts where nothing has the name
			}
			for j := range all {
				if !is(&all[j]) {
					continue
				}
				found = true
				if !slices.Contains(matched, all[j]) {
					matched = append(matched, all[j])
				}
			}
		}
		if !found {
			unmatched = append(unmatched, element)
		}
	}
	return matched, unmatched
}

// named reports whether the element is the name as it stands, whatever form it has: a name
// may have any character.
func (d *datacenter) named(of *Datacenter) bool {
	return d.text == of.Name || d.text == topology.Unescaped(of.Name)
}

func (d *datacenter) identified(of *Datacenter) bool {
	return strings.TrimPrefix(d.text, datacenterType) == of.ID
}

func (d *datacenter) matches(of *Datacenter) bool {
	switch d.form {
	case DatacenterReference:
		return d.identified(of)
	case DatacenterNamePattern:
		return matchName(d.text, of.Name)
	case DatacenterPath, DatacenterPathPattern:
		elements := strings.Split(strings.Trim(of.Path, "/"), "/")
		if len(elements) < len(d.elements) || (len(elements) > len(d.elements)) != d.deep {
			return false
		}
		for i, pattern := range d.elements {
			literal := pattern == elements[i] || pattern == topology.Unescaped(elements[i])
			if !literal && (d.form == DatacenterPath || !matchName(pattern, elements[i])) {
				return false
			}
		}
		return true
	}
	return false
}

// matchName matches a pattern with a name, as path.Match does. The name as vSphere shows
// it may have a slash, which an element of a path has not.
func matchName(pattern, name string) bool {
	escaped, _ := path.Match(pattern, name)
	shown, _ := path.Match(pattern, topology.Unescaped(name))
	return escaped || shown
}
