package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	format "vzones/cmd/vzones/recording"
)

// A recording is a vCenter in a folder, read with encoding/xml only: it is the oracle for everything that
// goes through govmomi.
type recording struct {
	name string // of the vCenter's entry in the configuration
	dir  string
	// objects are by reference, as TYPE:ID; order contains their references in the order of the files.
	objects map[string]object
	order   []string
	tags    format.Tags
	// hasOwnTags means that the folder has a file with tags, which the fleet attaches.
	hasOwnTags bool
	// hasUnreadable means that a VM has no UUID: its configuration could not be read.
	hasUnreadable bool
}

// An object has its properties by name.
type object map[string]*element

// add adds a property. govc object.save writes whole properties, vzones record single fields such as runtime.powerState.
func (o object) add(name string, val *element) {
	first, rest, isField := strings.Cut(name, ".")
	if !isField {
		o[name] = val
		return
	}
	if o[first] == nil {
		o[first] = &element{}
	}
	o[first].insert(strings.Split(rest, "."), val)
}

type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

// insert adds a descendant. A value that is an array becomes several elements.
func (e *element) insert(path []string, val *element) {
	name := xml.Name{Local: path[0]}
	if len(path) > 1 {
		i := slices.IndexFunc(e.Children, func(child element) bool { return child.XMLName.Local == path[0] })
		if i < 0 {
			i = len(e.Children)
			e.Children = append(e.Children, element{XMLName: name})
		}
		e.Children[i].insert(path[1:], val)
		return
	}
	values := []element{*val}
	if slices.ContainsFunc(val.Attrs, func(a xml.Attr) bool { return strings.HasPrefix(a.Value, "ArrayOf") }) {
		values = slices.Clone(val.Children)
	}
	for _, v := range values {
		v.XMLName = name
		e.Children = append(e.Children, v)
	}
}

// get returns the first descendant at a path, nil if there is none.
func (e *element) get(path ...string) *element {
	for _, name := range path {
		found := e.all(name)
		if len(found) == 0 {
			return nil
		}
		e = &found[0]
	}
	return e
}

func (e *element) all(name string) (found []element) {
	if e == nil {
		return nil
	}
	for _, child := range e.Children {
		if child.XMLName.Local == name {
			found = append(found, child)
		}
	}
	return found
}

func (e *element) text(path ...string) string {
	if e = e.get(path...); e == nil {
		return ""
	}
	return strings.TrimSpace(e.Text)
}

// reference returns the reference in an element as TYPE:ID, "" if there is none.
func (e *element) reference(path ...string) string {
	if e = e.get(path...); e == nil || strings.TrimSpace(e.Text) == "" {
		return ""
	}
	for _, a := range e.Attrs {
		// xsi:type has a namespace.
		if a.Name.Local == "type" && a.Name.Space == "" {
			return a.Value + ":" + strings.TrimSpace(e.Text)
		}
	}
	return ""
}

// readRecording reads the objects and tags of a folder. Without a file with tags, each datacenter gets a
// tag of the category region, and each cluster and standalone host a tag of the category zone.
func readRecording(name, dir, region, zone string) (*recording, error) {
	r := &recording{name: name, dir: dir, objects: map[string]object{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s: no XML files: write them with govc object.save -d %s, or use a folder vcenter-N of an unpacked recording", dir, dir)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var whole element
		if err := xml.Unmarshal(content, &whole); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		properties := object{}
		for _, p := range whole.all("propSet") {
			properties.add(p.text("name"), p.get("val"))
		}
		ref := whole.reference("obj")
		r.objects[ref] = properties
		r.order = append(r.order, ref)
	}
	content, err := os.ReadFile(filepath.Join(dir, "tags.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		r.tags = r.defaultTags(region, zone)
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.hasOwnTags = true
	return r, yaml.Unmarshal(content, &r.tags)
}

func (r *recording) defaultTags(region, zone string) format.Tags {
	regions := format.Category{Name: region, Cardinality: "SINGLE"}
	zones := format.Category{Name: zone, Cardinality: "SINGLE"}
	for _, ref := range r.order {
		kind, id, _ := strings.Cut(ref, ":")
		tag := format.Tag{Name: r.name + "-" + id, Objects: []string{ref}}
		switch kind {
		case "Datacenter":
			regions.Tags = append(regions.Tags, tag)
		case "ClusterComputeResource", "ComputeResource":
			zones.Tags = append(zones.Tags, tag)
		}
	}
	return format.Tags{Categories: []format.Category{regions, zones}}
}

// tagsOn returns the names of an object's tags of a category.
func (r *recording) tagsOn(ref, category string) (names []string) {
	for _, c := range r.tags.Categories {
		for _, t := range c.Tags {
			for _, on := range t.Objects {
				if c.Name == category && on == ref {
					names = append(names, t.Name)
				}
			}
		}
	}
	return names
}

// above returns an object and the objects above it, up to the root folder.
func (r *recording) above(ref string) (path []string) {
	for ref != "" {
		path = append(path, ref)
		o := r.objects[ref]
		ref = o["parent"].reference()
		if ref == "" {
			ref = o["parentVApp"].reference()
		}
	}
	return path
}

// path returns the inventory path of an object, with the names above it except the root folder's.
func (r *recording) path(ref string) (path string) {
	above := r.above(ref)
	for _, ref := range above[:max(0, len(above)-1)] {
		path = "/" + r.objects[ref]["name"].text() + path
	}
	return path
}

// unpack extracts the files of an archive, except those in its folders, into a new folder below parent and returns the folder.
func unpack(archive, parent string) (string, error) {
	file, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", archive, err)
	}
	dir := filepath.Join(parent, strings.TrimSuffix(filepath.Base(archive), ".tar.gz"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	entries := tar.NewReader(unzipped)
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return dir, nil
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", archive, err)
		}
		name := filepath.Clean(header.Name)
		if header.Typeflag != tar.TypeReg || filepath.Base(name) != name {
			continue
		}
		content, err := io.ReadAll(entries)
		if err != nil {
			return "", fmt.Errorf("%s: %w", archive, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return "", err
		}
	}
}
