package image

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
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
	if _, err := reference.ParseDockerRef(n.String()); err != nil {
		return Name{}, fmt.Errorf("image %q: %w", n, err)
	}
	return n, nil
}

// String returns the repository with the tag.
func (n Name) String() string { return n.Repository + ":" + n.Tag }

// Normalized returns the name that containerd has for this one, and under which the kubelet
// finds an image that was imported: with the registry, and docker.io/library/ where the
// name has none.
func (n Name) Normalized() string {
	// containerd reads a manifest's names with the same library.
	named, err := reference.ParseDockerRef(n.String())
	if err != nil {
		return n.String()
	}
	return named.String()
}
