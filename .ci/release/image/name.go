package image

import (
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// A Name is what an image is called where it is pushed to or imported.
type Name struct{ Repository, Tag string }

// NewName returns the name of a version's image in a repository. A tag has no "+", which a
// version of a commit between releases has: it becomes "-".
func NewName(repository, version string) (Name, error) {
	n := Name{Repository: repository, Tag: strings.ReplaceAll(version, "+", "-")}
	if _, err := name.NewTag(n.String(), name.WeakValidation); err != nil {
		return Name{}, fmt.Errorf("image %q: %w", n, err)
	}
	return n, nil
}

// String returns the repository with the tag.
func (n Name) String() string { return n.Repository + ":" + n.Tag }
