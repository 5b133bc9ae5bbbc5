package check

import (
	"encoding/json"
	"encoding/xml"
	"testing"

	"vzones/cmd/vzones/finding"
	"vzones/vcenter/inventory"
)

// several is a result with two findings of one kind about one object.
func several() *result {
	about := func(vcenter, object, text string, k *finding.Kind) finding.Finding {
		return finding.Finding{Kind: k, VCenter: vcenter, Object: object, Text: text}
	}
	return &result{
		source: "/etc/vzones/vsphere (1).yaml",
		facts:  &facts{states: []inventory.State{{VCenter: "east"}, {VCenter: "west"}}},
		found: []finding.Finding{
			about("", "label a", "nowhere", finding.CategoryNowhere),
			about("east", "cluster c1", "rule \"x\" & <y>\x01", finding.RuleTogether),
			about("east", "cluster c1", "rule z", finding.RuleTogether),
			about("west", "cluster c1", "rule x", finding.RuleTogether),
			about("west", "cluster c2", "free", finding.ControlPlaneFree),
		},
	}
}

func TestSARIF(t *testing.T) {
	data, err := json.Marshal(several().sarif())
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID              string
				RuleIndex           int
				Level               string
				PartialFingerprints map[string]string
				Locations           []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != 5 {
		t.Fatalf("%d results, want 5", len(run.Results))
	}
	seen := map[string]bool{}
	for i, r := range run.Results {
		if id := run.Tool.Driver.Rules[r.RuleIndex].ID; id != r.RuleID {
			t.Errorf("result %d is of rule %s, and its index that of %s", i, r.RuleID, id)
		}
		if same := r.PartialFingerprints["finding/v1"]; same == "" || seen[same] {
			t.Errorf("result %d has the fingerprint %q of another one", i, same)
		} else {
			seen[same] = true
		}
		at := r.Locations[0].PhysicalLocation
		if at.ArtifactLocation.URI != "file:///etc/vzones/vsphere%20%281%29.yaml" && at.ArtifactLocation.URI != "file:///etc/vzones/vsphere%20(1).yaml" || at.Region.StartLine != 1 {
			t.Errorf("result %d is at %s, line %d", i, at.ArtifactLocation.URI, at.Region.StartLine)
		}
	}
	if got := run.Results[4].Level; got != "note" {
		t.Errorf("info is %s, want note", got)
	}
}

func TestJUnit(t *testing.T) {
	for failOn, want := range map[finding.Severity]int{finding.Warning: 4, finding.Error: 1} {
		data, err := several().junit(failOn)
		if err != nil {
			t.Fatal(err)
		}
		var got junitSuites
		if err := xml.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		tests, failures, told := 0, 0, 0
		for _, s := range got.Suites {
			if s.Tests != len(s.Cases) {
				t.Errorf("suite %s has %d cases and says %d", s.Name, len(s.Cases), s.Tests)
			}
			tests += s.Tests
			failures += s.Failures
			for _, c := range s.Cases {
				if c.Failure != nil || c.Out != "" {
					told++
				}
			}
		}
		if got.Tests != tests || got.Failures != failures || failures != want || told != 5 {
			t.Errorf("failing on %s: %d of %d tests fail (%d of %d in the suites), %d findings are told; want %d failures and 5 findings", failOn, got.Failures, got.Tests, failures, tests, told, want)
		}
	}
}
