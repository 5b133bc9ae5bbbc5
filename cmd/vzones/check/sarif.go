package check

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"k8s.io/component-base/version"

	"vzones/cmd/vzones/finding"
)

// The parts of SARIF 2.1.0 that are written, as
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html names them.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string      `json:"id"`
		Short   sarifText   `json:"shortDescription"`
		Full    sarifText   `json:"fullDescription"`
		Help    sarifText   `json:"help"`
		Default sarifConfig `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifRegion struct {
		Line int `json:"startLine"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Full string `json:"fullyQualifiedName"`
	}
)

const (
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifVersion = "2.1.0"
)

// level returns SARIF's word for a severity.
func level(s finding.Severity) string {
	if s == finding.Info {
		return "note"
	}
	return string(s)
}

// sarif returns the findings as SARIF. Each is at the configuration, since what shows findings wants
// a file, and at the object in vSphere or Kubernetes as a logical location.
func (r *result) sarif() *sarifLog {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "vzones check", Version: version.Get().GitVersion, Rules: []sarifRule{}}}, Results: []sarifResult{}}
	index, again := map[*finding.Kind]int{}, map[string]int{}
	for _, f := range r.found {
		k := f.Kind
		if _, known := index[k]; !known {
			index[k] = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
				ID: k.ID, Short: sarifText{k.Title}, Full: sarifText{k.Meaning}, Help: sarifText{k.Fix + " See " + k.Page() + "."}, Default: sarifConfig{level(k.Severity)},
			})
		}
		full := f.Object
		if f.VCenter != "" {
			full = f.VCenter + ": " + f.Object
		}
		text := f.Object + ": " + f.Text
		if f.Command != "" {
			text += " (" + f.Command + ")"
		}
		same := k.ID + "/" + full
		if again[same]++; again[same] > 1 { // an object may have several findings of a kind
			same += fmt.Sprintf("#%d", again[same])
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: k.ID, RuleIndex: index[k], Level: level(k.Severity), Message: sarifText{text},
			Locations:    []sarifLocation{{sarifPhysical{sarifArtifact{r.configURI()}, sarifRegion{1}}, []sarifLogical{{f.Object, full}}}},
			Fingerprints: map[string]string{"finding/v1": same},
		})
	}
	return &sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{run}}
}

// configURI returns the configuration's path as a URI.
func (r *result) configURI() string {
	path := filepath.ToSlash(r.source)
	u := url.URL{Path: path}
	if strings.HasPrefix(path, "/") {
		u.Scheme = "file"
	}
	return u.String()
}
