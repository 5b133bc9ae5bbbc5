package validate

import (
	"vzones/config"
	"vzones/config/check"
	"vzones/config/problem"
	"vzones/config/schema"
)

type checker struct {
	*problem.List
	// read reads the files that the configuration names, see Reader. Nil leaves them unread.
	read Reader
	// inherited are the vCenters with what they take from the global section.
	inherited []Settings
	// files are the CA files that were read, each once, and caFiles what they hold.
	files   []string
	caFiles map[string]caFile
	// caData are the certificates in the configuration itself.
	caData map[string]caFile
	// lists are the certificates of lists of files, which have caBytes together.
	lists   map[string][]byte
	caBytes int
}

// reject reports what is wrong with a value, if anything is.
func (c *checker) reject(v schema.Text, wrong *check.Mistake) bool {
	return schema.Reject(c.List, v, wrong)
}

// caFile is what a file of certificates holds, or what is wrong with it.
type caFile struct {
	data  []byte
	wrong *check.Mistake
	// absent reports whether there is no such file.
	absent bool
}

// A Reader reads a file of at most that many bytes, as readfile.ReadAtMost does.
type Reader func(path string, most int64) ([]byte, error)

// authority is what a server's certificate is verified with: nothing set means
// the system's certificates.
type authority struct {
	File string
	pem  []byte
}

// Settings are a section whose values were checked one by one, and what several of them mean
// together.
type Settings struct {
	schema.Section
	DatacenterList schema.Value[[]string]
	Families       schema.Value[[]string]
	Authority      schema.Value[authority]
	SecretRef      schema.Value[config.SecretRef]
}
