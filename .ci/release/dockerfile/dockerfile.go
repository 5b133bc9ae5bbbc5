// Package dockerfile checks a Dockerfile with BuildKit's own rules, as docker build --check
// does, but without Docker, a registry or the images that it names.
package dockerfile

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/opencontainers/go-digest"
)

// unread answers for each image with one that nothing is known of.
type unread struct{}

func (unread) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	return ref, "", []byte("{}"), nil
}

// Check returns, joined, what the rules find in a Dockerfile that is built with the
// arguments. Rules that are skipped by a comment in it stay skipped.
func Check(ctx context.Context, text []byte, arguments map[string]string) error {
	source := llb.NewSourceMap(nil, "Dockerfile", "Dockerfile", text)
	source.Definition = &llb.Definition{}
	o := dockerfile2llb.ConvertOpt{SourceMap: source, MetaResolver: unread{}}
	o.BuildArgs = arguments
	found, err := dockerfile2llb.DockerfileLint(ctx, text, o)
	if err != nil {
		return err
	}
	var all []error
	if found.Error != nil {
		all = append(all, errors.New(found.Error.Message))
	}
	for _, w := range found.Warnings {
		line := int32(0)
		if r := w.Location.GetRanges(); len(r) > 0 {
			line = r[0].GetStart().GetLine()
		}
		all = append(all, fmt.Errorf("line %d: %s: %s", line, w.RuleName, w.Detail))
	}
	return errors.Join(all...)
}
