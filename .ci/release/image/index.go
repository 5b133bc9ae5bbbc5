package image

import (
	"bytes"
	"encoding/json"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
)

// original is the interface under a name that is not one of its methods.
type original = v1.ImageIndex

// rewritten is an index as the specification's own types write it.
type rewritten struct {
	original
	raw []byte
}

// rewrite returns an index in the words and the order of the specification's own types.
// skopeo before 1.13 reads an index into them and writes it again, and its digest has to
// stay the same in a registry.
func rewrite(index v1.ImageIndex) (v1.ImageIndex, error) {
	raw, err := index.RawManifest()
	if err != nil {
		return nil, err
	}
	var parsed specs.Index
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, err
	}
	for i := range parsed.Manifests {
		// It is for what is not an image.
		parsed.Manifests[i].ArtifactType = ""
	}
	raw, err = json.Marshal(parsed)
	return &rewritten{index, raw}, err
}

func (r *rewritten) RawManifest() ([]byte, error) { return r.raw, nil }

func (r *rewritten) Digest() (v1.Hash, error) { return partial.Digest(r) }

func (r *rewritten) Size() (int64, error) { return int64(len(r.raw)), nil }

func (r *rewritten) IndexManifest() (*v1.IndexManifest, error) {
	return v1.ParseIndexManifest(bytes.NewReader(r.raw))
}
