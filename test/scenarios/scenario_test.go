package scenarios

import (
	"os"
	"path/filepath"
	"slices"
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

// TestMistakes: each line alone is refused, with its number and a reason.
func TestMistakes(t *testing.T) {
	for line, want := range map[string]string{
		`frobnicate east`:                          `"frobnicate" is no command`,
		`vm shoot node`:                            `is no command; there are: vm off VM | `,
		`vm move node`:                             `HOST is missing; it is written: vm move VM HOST`,
		`vm off node now`:                          `"now" is too much; it is written: vm off VM`,
		`vcenter west hang`:                        `the fleet has no vCenter "west"`,
		`tag * /dc zone`:                           `an argument is missing; it is written: tag VCENTER OBJECT CATEGORY TAG`,
		`vcenter east delay 5`:                     `"5" is no DURATION, such as 500ms or 10s`,
		`vcenter east fault Login NoSuchFault`:     `vSphere has no fault "NoSuchFault"`,
		`vcenter east fault Login VirtualMachine`:  `vSphere has no fault "VirtualMachine"`,
		`vcenter east fault-rest "*" 200`:          `200 is no status of an error`,
		`vm create east dc vm color=red`:           `"color=red" is unknown of a machine`,
		`node create`:                              `NODE is missing`,
		`node create gone`:                         `a Node cannot be called "gone": that is a condition`,
		`node create a b uuid=x`:                   `several Nodes of one machine`,
		`node create a label=b`:                    `label=KEY=VALUE is written otherwise`,
		`node create a initialized=b/c`:            `initialized=REGION/ZONE/TYPE is written otherwise`,
		`node create a initialized=b//c`:           `initialized=REGION/ZONE/TYPE is written otherwise`,
		`node create a address=`:                   `"address=" is unknown of a Node`,
		`node label node rack`:                     `KEY=VALUE is missing`,
		`node label other rack=a`:                  `no Node "other" is created above`,
		`vm address node`:                          `IP is missing`,
		`vm create east dc vm ip=`:                 `"ip=" is unknown of a machine`,
		`expect node annotation a`:                 `KEY=VALUE is missing`,
		`expect node machine=`:                     `a machine is missing`,
		`expect node addresses`:                    `LIST is missing`,
		`node create a color=red`:                  `"color=red" is unknown of a Node`,
		`node delete other`:                        `no Node "other" is created above`,
		`expect other initialized`:                 `no Node "other" is created above`,
		`expect node zone=a color=red`:             `"color=red" is no condition`,
		`expect node within 3s`:                    `CONDITION is missing`,
		`expect initialized`:                       `NODE is missing`,
		`expect node initialized within`:           `DURATION is missing`,
		`expect node initialized within 3s really`: `"really" is too much`,
		`expect node label zone`:                   `KEY=VALUE is missing`,
		`expect node event X count=many`:           `count= is a number`,
		`expect node zone=`:                        `a value is missing`,
		`hold node initialized`:                    `"node" is no DURATION`,
		`requests east Login < 3`:                  `a comparison is =, <= or >=, not "<"`,
		`requests east Login = -1`:                 `N is a number, not "-1"`,
		`sessions east = 0 within -3s`:             `"-3s" is no DURATION`,
		`log has "half`:                            `a quotation mark is missing`,
		`config`:                                   `FILE is missing`,
		`config other.yaml`:                        `there is no section "other.yaml" above the script`,
		`config swap other.yaml`:                   `there is no section "other.yaml" above the script`,
		`config swap config.yaml by-hand`:          `"by-hand" is too much`,
		`ca write`:                                 `VCENTER is missing`,
		`secret write west`:                        `the fleet has no vCenter "west"`,
		`secret write password=`:                   `a value is missing behind password=`,
		`secret write name=/a`:                     `"/a" is no SECRET`,
		`secret file a other.conf`:                 `there is no section "other.conf" above the script`,
		`secret delete a b`:                        `"b" is too much`,
		`credentials swap name=a`:                  `"name=a" is too much`,
		`pod event`:                                `REASON is missing`,
		`vcenter east address`:                     `ADDRESS is missing`,
		`metric`:                                   `METRIC is missing`,
		`metric up{vcenter} = 1`:                   `"up{vcenter}" is no METRIC, such as up or up{vcenter=east}`,
		`metric up{vcenter=east = 1`:               `is no METRIC`,
		`metric up = many`:                         `N is a number, not "many"`,
		`pace up 20 20 100`:                        `is no command; there are: pace METRIC`,
		`writer start node`:                        `every is missing`,
		`writer start other every 1s`:              `no Node "other" is created above`,
		`}`:                                        `} closes nothing`,
		`repeat many {`:                            `is written: repeat N {`,
		`repeat 3 {`:                               `the repeat is never closed`,
	} {
		_, err := loaded(t, head+"node create node\nexpect node exists\n"+line+"\n")
		if err == nil || !strings.HasPrefix(err.Error(), "story.txtar:10: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got: %v\nwant: story.txtar:10: … %s", line, err, want)
		}
	}
}

// TestMistakenFiles: whole files are refused, and all mistakes are reported at once.
func TestMistakenFiles(t *testing.T) {
	good := head + "node create node\nexpect node exists\n"
	for name, c := range map[string]struct{ content, want string }{
		"no story":        {strings.TrimPrefix(good, "It says what it shows.\n"), "story.txtar:1: what the scenario shows is not said"},
		"no expectation":  {head + "node create node\n", "story.txtar:8: the script expects nothing"},
		"no script":       {strings.Split(good, "-- script --")[0], `section "script" is missing`},
		"unknown section": {good + "-- nodes --\n", `story.txtar:10: section "nodes" is unknown`},
		"twice":           {good + "-- config.yaml --\n", `story.txtar:10: section "config.yaml" is there twice`},
		"bad fleet":       {strings.Replace(good, "{name: node}", "{nam: node}", 1), "story.txtar:3: fleet: yaml"},
		"no placeholder":  {strings.Replace(good, "zone: zone", "zone: '${north.host}'", 1), "story.txtar:5: ${north.host} stands for nothing; there are ${credentials} and ${VCENTER.WHAT} with host, port,"},
		"bad new config":  {strings.Replace(good, "-- script", "-- new.yaml --\n{{}\n-- script", 1), "story.txtar:7: yaml"},
		"bad config":      {strings.Replace(good, "labels: {", "labels: {{", 1), "story.txtar:5: yaml"},
		"script first":    {"x\n-- script --\n" + good, `story.txtar:2: section "fleet.yaml" has to come before the script`},
		"unused config":   {strings.Replace(good, "-- script", "-- new.yaml --\n{}\n-- script", 1), `story.txtar:7: section "new.yaml" is used by no command`},
		"late config":     {good + "-- new.yaml --\n{}\n", `story.txtar:10: section "new.yaml" has to come before the script`},
		"two mistakes":    {head + "a\nb\n", "story.txtar:9: \"b\" is no command"},
	} {
		if _, err := loaded(t, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got: %v\nwant: %s", name, err, c.want)
		}
	}
}

// TestTables: what is promised of usages, which are also the grammar.
func TestTables(t *testing.T) {
	var seen []string
	for _, c := range commands() {
		if slices.Contains(seen, c.usage) || c.does == "" || c.parse == nil || isArgument(strings.Fields(c.usage)[0]) {
			t.Errorf("command %q", c.usage)
		}
		seen = append(seen, c.usage)
	}
	seen = nil
	for _, k := range conditions() {
		if slices.Contains(seen, k.keyOf()) || k.does == "" || k.parse == nil {
			t.Errorf("condition %q", k.usage)
		}
		seen = append(seen, k.keyOf())
	}
}
