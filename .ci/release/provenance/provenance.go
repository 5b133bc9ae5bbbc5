// Package provenance states what a build was made from, as an in-toto statement with a
// provenance of SLSA. It claims nothing that nobody vouches for: the statement has no
// signature, the builder is whoever ran make, and it has no times and no host.
package provenance

import (
	"bytes"
	"encoding/json"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"vzones/ci/release/sbom"
)

// The identifiers are defined in docs/reference/image.md. They are no addresses, since
// nobody operates the builder: it reaches no level of SLSA beyond the first.
const (
	BuildType = "urn:vzones:build:make:v1"
	Builder   = "urn:vzones:builder:local-make"

	predicateType = "https://slsa.dev/provenance/v1"
)

// A Build is what is stated.
type Build struct {
	// Parameters are what whoever builds has chosen: the target, the version, ….
	Parameters map[string]any
	// Internal are how it was built: the flags, whether the tree had changes.
	Internal map[string]any
	// Source is the address of the sources, "" while they have none. Revision is the commit.
	Source, Revision string
	// Go is the release of Go. Modules are what was linked or put into an image.
	Go      string
	Modules []sbom.Module
	// Products are the files, or the digests of images, that came out.
	Products []sbom.File
}

// Statement returns the statement in JSON.
func (b *Build) Statement() ([]byte, error) {
	parameters, err := structpb.NewStruct(b.Parameters)
	if err != nil {
		return nil, err
	}
	internal, err := structpb.NewStruct(b.Internal)
	if err != nil {
		return nil, err
	}
	dependencies, err := b.dependencies()
	if err != nil {
		return nil, err
	}
	predicate := &slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType:            BuildType,
			ExternalParameters:   parameters,
			InternalParameters:   internal,
			ResolvedDependencies: dependencies,
		},
		RunDetails: &slsa.RunDetails{Builder: &slsa.Builder{Id: Builder}},
	}
	if err := predicate.Validate(); err != nil {
		return nil, err
	}
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, PredicateType: predicateType, Predicate: &structpb.Struct{}}
	text, err := protojson.Marshal(predicate)
	if err != nil {
		return nil, err
	}
	if err := protojson.Unmarshal(text, statement.Predicate); err != nil {
		return nil, err
	}
	for _, p := range b.Products {
		statement.Subject = append(statement.Subject, &intoto.ResourceDescriptor{Name: p.Name, Digest: map[string]string{"sha256": p.SHA256}})
	}
	if err := statement.Validate(); err != nil {
		return nil, err
	}
	if text, err = protojson.Marshal(statement); err != nil {
		return nil, err
	}
	// protojson puts in spaces by chance.
	var compact, indented bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, err
	}
	if err := json.Indent(&indented, compact.Bytes(), "", " "); err != nil {
		return nil, err
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

// dependencies returns the commit, the release of Go and the modules. A commit without
// an address is named by its digest alone.
func (b *Build) dependencies() ([]*intoto.ResourceDescriptor, error) {
	var all []*intoto.ResourceDescriptor
	if b.Revision != "" {
		source := &intoto.ResourceDescriptor{Name: "source", Digest: map[string]string{"gitCommit": b.Revision}}
		if b.Source != "" {
			source.Uri = "git+" + b.Source + "@" + b.Revision
		}
		all = append(all, source)
	}
	// What go.sum has no hash of is named without one.
	all = append(all, &intoto.ResourceDescriptor{Name: b.Go, Uri: "https://go.dev/dl/#" + b.Go})
	for _, m := range b.Modules {
		sum, err := m.SHA256()
		if err != nil {
			return nil, err
		}
		all = append(all, &intoto.ResourceDescriptor{Uri: m.PURL(), Digest: map[string]string{"dirHash": sum}})
	}
	return all, nil
}
