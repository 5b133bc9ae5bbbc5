package sbom

import (
	"bytes"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// CycloneDX returns the list as a document of CycloneDX 1.6 in JSON.
func (p *Product) CycloneDX() ([]byte, error) {
	kind := cdx.ComponentTypeApplication
	if p.Container {
		kind = cdx.ComponentTypeContainer
	}
	product := cdx.Component{
		BOMRef: "product", Type: kind, Name: p.Name, Version: p.Version, Licenses: licenses(p.License),
	}
	if p.Revision != "" {
		product.Properties = &[]cdx.Property{{Name: "vzones:commit", Value: p.Revision}}
	}
	var files []cdx.Component
	for _, f := range p.Files {
		files = append(files, cdx.Component{
			BOMRef: "file:" + f.Name, Type: cdx.ComponentTypeFile, Name: f.Name,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: f.SHA256}},
		})
	}
	if len(files) > 0 {
		product.Components = &files
	}
	var components []cdx.Component
	depends := cdx.Dependency{Ref: "product", Dependencies: &[]string{}}
	for _, m := range p.all() {
		c := cdx.Component{
			BOMRef: m.PURL(), Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version,
			PackageURL: m.PURL(), Licenses: licenses(m.License), Scope: cdx.ScopeRequired,
		}
		if m.Sum != "" {
			// Of the list of the files, not of an archive, so it is not a hash of the component.
			c.Properties = &[]cdx.Property{{Name: "vzones:go.sum", Value: m.Sum}}
		}
		components = append(components, c)
		*depends.Dependencies = append(*depends.Dependencies, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = p.id().URN()
	bom.Metadata = &cdx.Metadata{
		Timestamp: p.Created.UTC().Format(time.RFC3339),
		Tools:     &cdx.ToolsChoice{Components: &[]cdx.Component{{Type: cdx.ComponentTypeApplication, Name: "vzones-release"}}},
		Component: &product,
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{depends}
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return b.Bytes(), err
}

// licenses returns an SPDX expression, nil for none.
func licenses(expression string) *cdx.Licenses {
	if expression == "" {
		return nil
	}
	return &cdx.Licenses{{Expression: expression}}
}
