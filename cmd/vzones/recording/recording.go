// Package recording defines the files of a recording, which vzones record writes and --recording reads.
package recording

import "sync"

// Templates guards the templates of govmomi's simulator, which each new simulator in a process modifies.
var Templates sync.Mutex

// Files of a recording. Each vCenter has a directory with its objects, one XML file each, and its tags.
const (
	AboutFile  = "about.yaml"
	ConfigFile = "vsphere.yaml"
	NodesFile  = "nodes.yaml"
	TagsFile   = "tags.yaml"
)

// About describes a recording.
type About struct {
	Tool          string    `json:"tool"`
	NamesReplaced bool      `json:"namesReplaced"`
	VCenters      []VCenter `json:"vcenters"`
}

// VCenter describes a vCenter and the read.
type VCenter struct {
	// Name is the name of the entry in the configuration, and Directory contains the objects.
	Name      string `json:"name"`
	Directory string `json:"directory"`
	Version   string `json:"version,omitempty"`
	Build     string `json:"build,omitempty"`
	// Objects are the numbers of objects by type.
	Objects map[string]int `json:"objects,omitempty"`
	// Milliseconds are the durations of the parts of the read.
	Milliseconds map[string]int64 `json:"milliseconds,omitempty"`
	Errors       []string         `json:"errors,omitempty"`
	// TagErrors are the numbers of objects by the error of reading their tags.
	TagErrors map[string]int `json:"tagErrors,omitempty"`
	// Unreadable are references to objects that the account cannot see.
	Unreadable []string `json:"unreadable,omitempty"`
}

// Tags are the tags of a vCenter.
type Tags struct {
	Categories []Category `json:"categories"`
}

// Category is a tag category with its tags. Cardinality is SINGLE or MULTIPLE. No Types means all.
type Category struct {
	Name        string   `json:"name"`
	Cardinality string   `json:"cardinality"`
	Types       []string `json:"types,omitempty"`
	Tags        []Tag    `json:"tags"`
}

// Tag is a tag with its objects, each as TYPE:ID.
type Tag struct {
	Name    string   `json:"name"`
	Objects []string `json:"objects"`
}
