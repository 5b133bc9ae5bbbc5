package sbom

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
)

const unknown = "NOASSERTION"

// notInID matches what an identifier of SPDX does not have.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// SPDX returns the list as a document of SPDX 2.3 in JSON.
func (p *Product) SPDX() ([]byte, error) {
	purpose := "APPLICATION"
	if p.Container {
		purpose = "CONTAINER"
	}
	product := &v2_3.Package{
		PackageName: p.Name, PackageSPDXIdentifier: "Product", PackageVersion: p.Version,
		PackageDownloadLocation: unknown, PackageCopyrightText: unknown,
		PackageLicenseConcluded: p.License, PackageLicenseDeclared: p.License,
		PrimaryPackagePurpose: purpose, PackageSourceInfo: p.Revision,
		IsFilesAnalyzedTagPresent: true,
	}
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      p.Name + "-" + p.Version,
		DocumentNamespace: "https://spdx.org/spdxdocs/" + notInID.ReplaceAllString(p.Name+"-"+p.Version, "-") + "-" + p.id().String(),
		CreationInfo: &v2_3.CreationInfo{
			Created:  p.Created.UTC().Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "vzones-release"}},
		},
		Packages: []*v2_3.Package{product},
	}
	relate := func(a, b common.ElementID, how string) {
		doc.Relationships = append(doc.Relationships, &v2_3.Relationship{
			RefA: common.MakeDocElementID("", string(a)), RefB: common.MakeDocElementID("", string(b)), Relationship: how,
		})
	}
	relate("DOCUMENT", "Product", "DESCRIBES")
	for i, f := range p.Files {
		id := common.ElementID(fmt.Sprintf("File-%d", i+1))
		doc.Files = append(doc.Files, &v2_3.File{
			FileName: "./" + f.Name, FileSPDXIdentifier: id,
			Checksums:        []common.Checksum{{Algorithm: common.SHA256, Value: f.SHA256}},
			LicenseConcluded: unknown, LicenseInfoInFiles: []string{unknown}, FileCopyrightText: unknown,
		})
		relate("Product", id, "GENERATES")
	}
	for _, m := range p.all() {
		pkg := spdxModule(m)
		doc.Packages = append(doc.Packages, pkg)
		relate("Product", pkg.PackageSPDXIdentifier, "DEPENDS_ON")
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Write(doc, &b, json.Indent(" ")); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func spdxModule(m Module) *v2_3.Package {
	license := m.License
	if license == "" {
		license = unknown
	}
	pkg := &v2_3.Package{
		PackageName:           m.Path,
		PackageSPDXIdentifier: common.ElementID("Module-" + notInID.ReplaceAllString(m.Path+"-"+m.Version, "-")),
		PackageVersion:        m.Version, PackageDownloadLocation: unknown, PackageCopyrightText: unknown,
		PackageLicenseConcluded: license, PackageLicenseDeclared: license,
		PrimaryPackagePurpose: "LIBRARY", IsFilesAnalyzedTagPresent: true,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: m.PURL(),
		}},
	}
	if m.Sum != "" {
		// Of the list of the files, not of an archive, so it is not a checksum of the package.
		pkg.PackageComment = "hash of the module in go.sum: " + m.Sum
	}
	return pkg
}
