package provenance

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"vzones/ci/release/sbom"
)

func build() *Build {
	return &Build{
		Parameters: map[string]any{"target": "image", "version": "v1.37.0"},
		Internal:   map[string]any{"treeHasChanges": true},
		Revision:   strings.Repeat("6a", 20),
		Go:         "go1.26.8",
		Modules:    []sbom.Module{{Path: "example.com/m", Version: "v1.0.0", Sum: "h1:Khu2En+0gcYPZ2kuIihfswbzxv/mIHXgzPZ018Oty48="}},
		Products:   []sbom.File{{Name: "vzones.tar.gz", SHA256: strings.Repeat("ab", 32)}},
	}
}

// TestStatement: it is a valid statement, the same each time, and claims nothing but what
// was given.
func TestStatement(t *testing.T) {
	text, err := build().Statement()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, err := build().Statement(); err != nil || !bytes.Equal(text, again) {
			t.Fatalf("a second statement differs: %v\n%s", err, again)
		}
	}
	var s intoto.Statement
	if err := protojson.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	var plain struct {
		Type      string `json:"_type"`
		Predicate struct {
			BuildDefinition struct {
				BuildType            string
				InternalParameters   map[string]any
				ResolvedDependencies []struct {
					Name, URI string
					Digest    map[string]string
				}
			}
			RunDetails map[string]map[string]any
		}
	}
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	if plain.Type != "https://in-toto.io/Statement/v1" || plain.Predicate.BuildDefinition.BuildType != BuildType {
		t.Errorf("%s", text)
	}
	if plain.Predicate.BuildDefinition.InternalParameters["treeHasChanges"] != true {
		t.Error("it does not say that the tree has changes")
	}
	d := plain.Predicate.BuildDefinition.ResolvedDependencies
	// The example of in-toto's specification of digests.
	if len(d) != 3 || d[2].Digest["dirHash"] != "2a1bb6127fb481c60f67692e22285fb306f3c6ffe62075e0ccf674d7c3adcb8f" {
		t.Errorf("made from %+v", d)
	}
	if d[0].URI != "" || d[0].Digest["gitCommit"] != strings.Repeat("6a", 20) {
		t.Errorf("sources that are nowhere: %+v", d[0])
	}
	if r := plain.Predicate.RunDetails; len(r) != 1 || len(r["builder"]) != 1 || r["builder"]["id"] != Builder {
		t.Errorf("run details %v: want the builder's id alone", r)
	}
}

func TestRefused(t *testing.T) {
	for name, change := range map[string]func(*Build){
		"no product":     func(b *Build) { b.Products = nil },
		"bad digest":     func(b *Build) { b.Products[0].SHA256 = "ab" },
		"no parameters":  func(b *Build) { b.Parameters = nil },
		"bad hash":       func(b *Build) { b.Modules[0].Sum = "" },
		"not of JSON":    func(b *Build) { b.Internal["x"] = func() {} },
		"a short commit": func(b *Build) { b.Revision = "6a9d8f" },
	} {
		b := build()
		change(b)
		if text, err := b.Statement(); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}
