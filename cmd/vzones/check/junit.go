package check

import (
	"encoding/xml"
	"fmt"

	"vzones/cmd/vzones/finding"
)

// The parts of JUnit's XML that pipelines read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// fleetSuite is the suite of what is about several vCenters or none.
const fleetSuite = "fleet"

// junit returns the findings as test cases: a suite for the fleet and one for each vCenter. A case
// for each finding fails if that is as bad as failOn, and each kind without a finding is a case that
// passes.
func (r *result) junit(failOn finding.Severity) ([]byte, error) {
	all := junitSuites{Name: "vzones check"}
	names := []string{""}
	for _, s := range r.states {
		names = append(names, s.VCenter)
	}
	for _, name := range names {
		suite := junitSuite{Name: name}
		if name == "" {
			suite.Name = fleetSuite
		}
		for _, k := range finding.CheckKinds() {
			suite.Cases = append(suite.Cases, r.cases(suite.Name, name, k, failOn)...)
		}
		suite.Tests = len(suite.Cases)
		for i := range suite.Cases {
			if suite.Cases[i].Failure != nil {
				suite.Failures++
			}
		}
		all.Tests, all.Failures = all.Tests+suite.Tests, all.Failures+suite.Failures
		all.Suites = append(all.Suites, suite)
	}
	data, err := xml.MarshalIndent(&all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

// cases returns the findings of a kind about a vCenter, or one case that passes.
func (r *result) cases(class, vcenter string, k *finding.Kind, failOn finding.Severity) (cases []junitCase) {
	for _, f := range r.found {
		if f.Kind != k || f.VCenter != vcenter {
			continue
		}
		c := junitCase{Class: class, Name: k.ID + " " + k.Title + ": " + f.Object}
		text := f.Text + "\n" + f.WhatToDo() + "\n"
		if f.Command != "" {
			text += f.Command + "\n"
		}
		text += k.Page()
		if k.Severity.AtLeast(failOn) {
			c.Failure = &junitFailure{Type: string(k.Severity), Message: f.Text, Text: text}
		} else {
			c.Out = text
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		cases = []junitCase{{Class: class, Name: k.ID + " " + k.Title}}
	}
	return cases
}
