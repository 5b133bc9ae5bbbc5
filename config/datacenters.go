package config

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"vzones/topology"
)

// anyDepth as the last element of a path stands for everything below.
const anyDepth = "..."

// datacenterID matches a managed object ID of a datacenter, alone or in a reference.
var datacenterID = regexp.MustCompile(`^(?:Datacenter:)?(datacenter-[0-9]+)$`)

var (
	errPattern = errors.New("is a malformed pattern: close each [ with ], have something between the two, and write \\ before one that is meant itself")
	errUpwards = errors.New("leads upwards by ..: write the path from the root folder on")
)

// datacenter is an element of VCenter.Datacenters as it is read. The CPI hands it to govmomi's
// finder, which takes the same forms: a name or managed object ID, a path, a pattern of either,
// or a reference.
type datacenter struct {
	text string
	// elements are those of a path, isDeep whether datacenters at any depth below them are meant.
	elements       []string
	isPath, isDeep bool
	isPattern      bool
}

// CheckDatacenter says what is wrong with an element of VCenter.Datacenters that no configuration has.
func CheckDatacenter(element string) error {
	_, err := readDatacenter(element)
	return err
}

// IsDatacenterPattern reports whether an element of VCenter.Datacenters stands for what fits it.
func IsDatacenterPattern(element string) bool {
	d, _ := readDatacenter(element)
	return d.isPattern || d.isDeep
}

func readDatacenter(s string) (datacenter, error) {
	d := datacenter{text: s, isPath: strings.Contains(s, "/"), isPattern: strings.ContainsAny(s, "*?[")}
	for _, element := range strings.Split(s, "/") {
		switch {
		case d.isPattern && malformed(element):
			return d, errPattern
		case !d.isPath || element == "" || element == ".":
		case element == "..":
			return d, errUpwards
		default:
			d.elements = append(d.elements, element)
		}
	}
	if n := len(d.elements); n > 0 && d.elements[n-1] == anyDepth {
		d.elements = d.elements[:n-1]
		d.isDeep = true
	}
	return d, nil
}

func malformed(pattern string) bool { _, err := path.Match(pattern, ""); return err != nil }

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
		isMeant := func(of Datacenter) bool { return d.isNamed(of) || err == nil && d.matches(of) }
		// The ID counts where nothing has the name.
		if id := datacenterID.FindStringSubmatch(element); id != nil && !slices.ContainsFunc(all, isMeant) {
			isMeant = func(of Datacenter) bool { return id[1] == of.ID }
		}
		found := false
		for _, of := range all {
			if isMeant(of) {
				found = true
				if !slices.Contains(matched, of) {
					matched = append(matched, of)
				}
			}
		}
		if !found {
			unmatched = append(unmatched, element)
		}
	}
	return matched, unmatched
}

// isNamed reports whether the element is the name as it stands, whatever form it has: a name
// may have any character.
func (d *datacenter) isNamed(of Datacenter) bool {
	return d.text == of.Name || d.text == topology.Unescaped(of.Name)
}

func (d *datacenter) matches(of Datacenter) bool {
	if !d.isPath {
		return d.isPattern && matchName(d.text, of.Name)
	}
	elements := strings.Split(strings.Trim(of.Path, "/"), "/")
	if len(elements) < len(d.elements) || (len(elements) > len(d.elements)) != d.isDeep {
		return false
	}
	for i, pattern := range d.elements {
		literal := pattern == elements[i] || pattern == topology.Unescaped(elements[i])
		if !literal && (!d.isPattern && !d.isDeep || !matchName(pattern, elements[i])) {
			return false
		}
	}
	return true
}

// matchName matches a pattern with a name, as path.Match does. The name as vSphere shows
// it may have a slash, which an element of a path has not.
func matchName(pattern, name string) bool {
	escaped, _ := path.Match(pattern, name)
	shown, _ := path.Match(pattern, topology.Unescaped(name))
	return escaped || shown
}
