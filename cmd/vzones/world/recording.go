package world

// Files of a recording. Each vCenter has a directory with its objects, one XML file each, and its tags.
const (
	RecordedAboutFile  = "about.yaml"
	RecordedConfigFile = "vsphere.yaml"
	RecordedNodesFile  = "nodes.yaml"
	RecordedTagsFile   = "tags.yaml"
)

// RecordedAbout describes a recording.
type RecordedAbout struct {
	Tool          string            `json:"tool"`
	NamesReplaced bool              `json:"namesReplaced"`
	VCenters      []RecordedVCenter `json:"vcenters"`
}

// RecordedVCenter describes a vCenter and the read.
type RecordedVCenter struct {
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

// RecordedTags are the tags of a vCenter.
type RecordedTags struct {
	Categories []RecordedCategory `json:"categories"`
}

// RecordedCategory is a tag category with its tags. Cardinality is SINGLE or MULTIPLE. No Types means all.
type RecordedCategory struct {
	Name        string        `json:"name"`
	Cardinality string        `json:"cardinality"`
	Types       []string      `json:"types,omitempty"`
	Tags        []RecordedTag `json:"tags"`
}

// RecordedTag is a tag with its objects, each as TYPE:ID.
type RecordedTag struct {
	Name    string   `json:"name"`
	Objects []string `json:"objects"`
}
