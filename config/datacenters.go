package config

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"vzones/topology"
)

// anyDepth as the last segment of a path selects the datacenters below the path, at any depth, but not at the path itself.
const anyDepth = "..."

var datacenterID = regexp.MustCompile(`^(?:Datacenter:)?(datacenter-[0-9]+)$`)

var (
	errPattern = errors.New("is a malformed pattern: close each [ with ], put characters between them, and write \\ before a literal [ or ]")
	errUpwards = errors.New("contains the segment \"..\": write the path from the root folder")
)

// datacenterSelector is an element of VCenter.Datacenters: a name, a path, a pattern of either, or a managed object ID or
// reference. The CPI passes these forms to govmomi's finder.
type datacenterSelector struct {
	text string
	// segments are the parts of a path, without a final anyDepth, which sets isDeep.
	segments       []string
	isPath, isDeep bool
	isPattern      bool
}

// CheckDatacenter returns an error for an invalid element of VCenter.Datacenters.
func CheckDatacenter(element string) error {
	_, err := parseDatacenter(element)
	return err
}

// IsDatacenterPattern reports whether an element is a pattern.
func IsDatacenterPattern(element string) bool {
	d, _ := parseDatacenter(element)
	return d.isPattern || d.isDeep
}

func parseDatacenter(s string) (datacenterSelector, error) {
	d := datacenterSelector{text: s, isPath: strings.Contains(s, "/"), isPattern: strings.ContainsAny(s, "*?[")}
	for _, segment := range strings.Split(s, "/") {
		switch {
		case d.isPattern && malformed(segment):
			return d, errPattern
		case !d.isPath || segment == "" || segment == ".":
		case segment == "..":
			return d, errUpwards
		default:
			d.segments = append(d.segments, segment)
		}
	}
	if n := len(d.segments); n > 0 && d.segments[n-1] == anyDepth {
		d.segments = d.segments[:n-1]
		d.isDeep = true
	}
	return d, nil
}

func malformed(pattern string) bool { _, err := path.Match(pattern, ""); return err != nil }

// A Datacenter contains everything that can identify a datacenter.
type Datacenter struct {
	ID string
	// Name and the inventory path contain vSphere's escapes %2f, %5c and %25.
	Name, Path string
}

// MatchDatacenters returns the datacenters that the elements select, in the order of the elements,
// and the elements that select none. Names match with vSphere's escapes or without.
func MatchDatacenters(elements []string, candidates []Datacenter) (matched []Datacenter, unmatched []string) {
	for _, element := range elements {
		d, err := parseDatacenter(element)
		isSelected := func(dc Datacenter) bool { return d.isNameOf(dc) || err == nil && d.matches(dc) }
		// A name takes precedence over an ID.
		if id := datacenterID.FindStringSubmatch(element); id != nil && !slices.ContainsFunc(candidates, isSelected) {
			isSelected = func(dc Datacenter) bool { return id[1] == dc.ID }
		}
		found := false
		for _, dc := range candidates {
			if isSelected(dc) {
				found = true
				if !slices.Contains(matched, dc) {
					matched = append(matched, dc)
				}
			}
		}
		if !found {
			unmatched = append(unmatched, element)
		}
	}
	return matched, unmatched
}

// isNameOf reports whether the whole text is the name of dc, which may contain any character.
func (d *datacenterSelector) isNameOf(dc Datacenter) bool {
	return d.text == dc.Name || d.text == topology.Unescaped(dc.Name)
}

func (d *datacenterSelector) matches(dc Datacenter) bool {
	if !d.isPath {
		return d.isPattern && matchName(d.text, dc.Name)
	}
	pathSegments := strings.Split(strings.Trim(dc.Path, "/"), "/")
	if len(pathSegments) < len(d.segments) || (len(pathSegments) > len(d.segments)) != d.isDeep {
		return false
	}
	for i, pattern := range d.segments {
		literal := pattern == pathSegments[i] || pattern == topology.Unescaped(pathSegments[i])
		if !literal && (!d.isPattern && !d.isDeep || !matchName(pattern, pathSegments[i])) {
			return false
		}
	}
	return true
}

func matchName(pattern, name string) bool {
	escaped, _ := path.Match(pattern, name)
	shown, _ := path.Match(pattern, topology.Unescaped(name))
	return escaped || shown
}
