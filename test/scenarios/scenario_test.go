package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const head = `It says what it shows.

-- fleet.yaml --
vcenters: [{name: east, datacenters: [{name: dc, hosts: [esx], vms: [{name: node}]}]}]
-- config.yaml --
labels: {zone: zone}
-- script --
`

func loaded(t *testing.T, content string) (*Scenario, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "story.txtar")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(file)
}

func TestLoad(t *testing.T) {
	s, err := loaded(t, head+`
node create node        # a comment
repeat 3 {
expect node zone=a initialized within 5s
}
log has "two words"
`)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "story" || s.Story != "It says what it shows." {
		t.Errorf("name %q, story %q", s.Name, s.Story)
	}
	var got []string
	for _, step := range s.steps {
		got = append(got, step.String())
		for _, inner := range step.inner {
			got = append(got, inner.String())
		}
	}
	want := []string{
		"story.txtar:9: node create node        # a comment",
		"story.txtar:10: repeat 3 {",
		"story.txtar:11: expect node zone=a initialized within 5s",
		"story.txtar:13: log has \"two words\"",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
	if s.steps[1].times != 3 {
		t.Errorf("repeated %d times", s.steps[1].times)
	}
}

// TestLineErrors: each line is rejected with its number and a reason.
func TestLineErrors(t *testing.T) {
	for line, want := range map[string]string{
		`frobnicate east`:                           `unknown command "frobnicate"`,
		`daemon shoot`:                              `unknown command; usage: daemon start [FLAG…] | `,
		`vm MoveVM node`:                            `MoveVM takes 2 arguments, not ["node"]; usage: vm METHOD VM [ARG…]`,
		`vcenter west Hang`:                         `the fleet has no vCenter "west"`,
		`vcenter east Explode`:                      `fleet.VCenter has no method "Explode"`,
		`node create`:                               `NODE is missing`,
		`node create a label=b`:                     `label= must have the form label=KEY=VALUE`,
		`node create a initialized=b//c`:            `initialized= must have the form initialized=REGION/ZONE/TYPE`,
		`node create a color=red`:                   `unknown option "color=red"`,
		`node create a by-kubelet node-ip=10.0.0.1`: `no kubelet registers such a Node: node-ip=: `,
		`node restart node label=a`:                 `label= must have the form label=KEY=VALUE`,
		`node label node rack`:                      `KEY=VALUE is missing`,
		`expect node vm=`:                           `VM is missing`,
		`expect node addresses`:                     `LIST is missing`,
		`expect node zone=a color=red`:              `unknown condition "color=red"`,
		`expect node within 3s`:                     `CONDITION is missing`,
		`expect initialized`:                        `NODE is missing`,
		`expect node exists within 3s now`:          `unexpected "now"`,
		`expect node exists within -3s`:             `"-3s" is not a DURATION`,
		`expect node event X count=many`:            `count= must be a non-negative integer`,
		`requests east Login < 3`:                   `COMPARE must be =, <= or >=, not "<"`,
		`requests east Login = -1`:                  `N must be a non-negative integer, not "-1"`,
		`log has "half`:                             `the closing quotation mark is missing`,
		`config swap other.yaml`:                    `there is no section "other.yaml" above the script`,
		`secret write password=`:                    `a value is missing after password=`,
		`secret write name=/a`:                      `"/a" is not a SECRET`,
		`metric up{vcenter=east = 1`:                `is not a METRIC`,
		`}`:                                         `unknown command "}"`,
		`repeat many {`:                             `usage: repeat N {`,
		`repeat 3 {`:                                `the closing } of this repeat is missing`,
	} {
		_, err := loaded(t, head+"node create node\nexpect node exists\n"+line+"\n")
		if err == nil || !strings.HasPrefix(err.Error(), "story.txtar:10: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got: %v\nwant: story.txtar:10: … %s", line, err, want)
		}
	}
}

// TestFileErrors: invalid files are rejected, and all errors are reported at once.
func TestFileErrors(t *testing.T) {
	good := head + "node create node\nexpect node exists\n"
	for want, content := range map[string]string{
		"story.txtar:7: a scenario needs the sections": strings.Split(good, "-- script --")[0],
		`story.txtar:10: unknown section "nodes"`:      good + "-- nodes --\n",
		"story.txtar:3: fleet: yaml":                   strings.Replace(good, "{name: node}", "{nam: node}", 1),
		"story.txtar:5: yaml":                          strings.Replace(good, "labels: {", "labels: {{", 1),
		"story.txtar:9: unknown command \"b\"":         head + "a\nb\n",
	} {
		if _, err := loaded(t, content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("\n got: %v\nwant: %s", err, want)
		}
	}
}
