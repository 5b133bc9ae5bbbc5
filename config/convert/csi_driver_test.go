package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gopkg.in/gcfg.v1"

	"vzones/config"
	"vzones/config/configtest"
	"vzones/config/internal/check"
	"vzones/config/internal/problem"
	"vzones/config/parse"
)

// TestCSI compares with the golden files under testdata/csi: what is written and not
// carried over, what is the driver's alone, or the mistakes. What is told to have no
// effect is either in the new file, and the warning is not for it, or not carried over.
func TestCSI(t *testing.T) {
	configtest.Each(t, "csi", 20, func(t *testing.T, c configtest.Case) {
		file, data := c.File, c.Data
		w, err := ToCSI(file, data, CSIOptions{})
		if refused := strings.HasPrefix(file, "refused-"); refused || err != nil {
			if all, ok := errors.AsType[config.Errors](err); !ok || !refused {
				t.Fatalf("got %v and error %v", w, all)
			}
			c.Golden(t, ".txt", err.Error()+"\n")
			return
		}
		var b strings.Builder
		b.WriteString(w.Private.Reveal() + "---\n")
		for _, l := range w.Lost {
			fmt.Fprintf(&b, "not carried over %v\n", l)
		}
		for _, l := range w.Warnings {
			if !strings.Contains(l.Message, "the CSI driver's") {
				continue
			}
			fmt.Fprintf(&b, "warning %v\n", l)
			told := slices.ContainsFunc(w.Lost, func(o config.Warning) bool { return o.Line == l.Line && o.Field == l.Field })
			if !told {
				t.Errorf("is neither in the new file nor told to be left out: %v", l)
			}
		}
		c.Golden(t, ".txt", b.String())
	})
}

// TestCSIRoundTrip converts all files that the driver takes, of vzones and of others,
// and has the driver take what was written: it makes the same of both, and so does
// vzones.
func TestCSIRoundTrip(t *testing.T) {
	passed := 0
	for _, folder := range []string{"ini-good", "csi"} {
		configtest.Each(t, folder, 12, func(t *testing.T, c configtest.Case) {
			file, data := c.File, c.Data
			var before driverFile
			if gcfg.FatalOnly(gcfg.ReadStringInto(&before, string(data))) != nil || before.refused() != "" {
				return
			}
			want, err := parse.Options{SkipFiles: true}.Parse(file, data)
			if err != nil {
				t.Fatalf("the driver takes it: %v", err)
			}
			w, err := ToCSI(file, data, CSIOptions{})
			if err != nil {
				t.Fatalf("the driver takes it: %v", err)
			}
			passed++
			for _, vc := range want.VCenters {
				// A warning says that the driver reads this otherwise.
				if d := before.VirtualCenter[vc.Server]; d != nil && before.Global.InsecureFlag && !vc.Insecure {
					before.Global.InsecureFlag = false
				}
			}
			checkDriver(t, before, readAsDriver(t, w), w)
			got, err := parse.Options{SkipFiles: true}.Parse("csi.conf", []byte(w.Private.Reveal()))
			if err != nil {
				t.Fatalf("does not load: %v\n%s", err, w.Private.Reveal())
			}
			sameForCSI(t, got, want)
		})
	}
	if passed < 10 {
		t.Errorf("the driver takes %d files", passed)
	}
}

// checkDriver checks that the driver makes the same of two files, but for what was
// told.
func checkDriver(t *testing.T, before, after driverFile, w *Written) {
	t.Helper()
	if why := after.refused(); why != "" {
		t.Errorf("the driver refuses the new file: %s\n%s", why, w.Private.Reveal())
	}
	told := func(part string) bool {
		return slices.ContainsFunc(w.Lost, func(w config.Warning) bool { return strings.Contains(w.Message, part) })
	}
	if b, a := before.labels(), after.labels(); !maps.Equal(a, b) && !told("the CSI driver gives Nodes the label ") &&
		!told("the CSI driver reads region and zone only where both are set") {
		t.Errorf("the driver makes the labels %v, before it made %v", a, b)
	}
	b, a := before.effective(), after.effective()
	b.Labels.Zone, b.Labels.Region = "", ""
	if !reflect.DeepEqual(a, b) {
		got, _ := json.Marshal(a)
		want, _ := json.Marshal(b)
		t.Errorf("the driver reads\n%s\nwant\n%s", got, want)
	}
}

// sameForCSI compares what the driver's file can have: the vCenters, but for names,
// and the categories of required labels.
func sameForCSI(t *testing.T, got, want *config.Config) {
	t.Helper()
	if len(got.VCenters) != len(want.VCenters) {
		t.Fatalf("got %d vCenters", len(got.VCenters))
	}
	for i := range want.VCenters {
		g, w := got.VCenters[i], want.VCenters[i]
		for _, vc := range []*config.VCenter{&g, &w} {
			vc.Name, vc.At, vc.TrustAt, vc.RoundTrips, vc.IPFamilies = "", "", "", 0, nil
			vc.CA, vc.SecretsDirectory, vc.Secret = nil, "", config.SecretRef{}
			if vc.Insecure {
				vc.CAFile, vc.Thumbprint = "", ""
			}
		}
		if !g.Password.Equal(w.Password) || !reflect.DeepEqual(meaning(&config.Config{VCenters: []config.VCenter{g}}), meaning(&config.Config{VCenters: []config.VCenter{w}})) {
			t.Errorf("got vCenter\n%+v\nwant\n%+v", g, w)
		}
	}
	if g, w := requiredCategories(got), requiredCategories(want); !slices.Equal(g, w) {
		t.Errorf("got categories %v, want %v", g, w)
	}
}

// TestCSIUsers compares our words with the driver's rule.
func TestCSIUsers(t *testing.T) {
	const such = ", such as user@vsphere.local, of letters, digits, ., _ and -"
	const blank = "has a blank, which the CSI driver refuses: give it an account such as user@vsphere.local, of letters, digits, ., _ and -"
	const other = "has a character that the CSI driver refuses, or a second @: give it an account such as user@vsphere.local, of letters, digits, ., _ and -"
	const domain = "has no domain, without which the CSI driver refuses it: write one, as in user@vsphere.local"
	for user, want := range map[string]string{
		"csi@vsphere.local":               "",
		`vsphere.local\csi_1.a-b`:         "",
		"a_b@x":                           "",
		"csi":                             domain,
		"":                                domain,
		"csi driver@vsphere.local":        blank,
		"csi@vsphere.local\n":             blank,
		"csi\u00a0a@vsphere.local":        blank,
		"csi@example.com@vsphere":         other,
		`dom_ain\csi`:                     other,
		"csi+1@vsphere.local":             other,
		"@vsphere.local":                  other,
		"csi@":                            other,
		"bücher@vsphere.local":            other,
		check.BeginCertificate + "\nabcd": "is a certificate, which the CSI driver refuses: give it an account with a name and a password" + such,
	} {
		if got := refusedByCSI(user); got != want || driverUser.MatchString(user) != (got == "") {
			t.Errorf("%q: got %q, want %q", user, got, want)
		}
	}
}

// TestCSIUserInSecret: the message names the Secret, and no name of a user.
func TestCSIUserInSecret(t *testing.T) {
	secrets, err := readSecrets("s", []byte("kind: Secret\nmetadata: {name: s}\nstringData: {10.0.0.1.username: made-up-user, 10.0.0.1.password: p}\n"))
	if err != nil {
		t.Fatal(err)
	}
	file := []byte("vcenter:\n  10.0.0.1: {secretName: s, secretNamespace: n}\n")
	w, err := ToCSI("f", file, CSIOptions{Secrets: secrets, Find: findAccount})
	const want = `f:2: vcenter["10.0.0.1"].secretName: the user for 10.0.0.1 in the Secret n/s has no domain, ` +
		"without which the CSI driver refuses it: write one, as in user@vsphere.local"
	if w != nil || err == nil || err.Error() != want {
		t.Errorf("got %v and error %v", w, err)
	}
}

// TestCSIClusterID: the one that is given wins over that of the file, in either format,
// and nothing is said of that.
func TestCSIClusterID(t *testing.T) {
	for _, file := range []string{
		"[Global]\nCluster-ID = old\n[VirtualCenter \"10.0.0.1\"]\nuser = u@x\npassword = p\n",
		"global: {cluster-id: old}\nvcenter: {10.0.0.1: {user: u@x, password: p}}\n",
	} {
		for given, want := range map[string]string{"": "old", "new": "new"} {
			w, err := ToCSI("f", []byte(file), CSIOptions{ClusterID: given})
			if err != nil {
				t.Fatal(err)
			}
			if got := readAsDriver(t, w).Global.ClusterID; got != want || len(w.Lost) > 0 || len(w.Warnings) > 0 {
				t.Errorf("%s\ngiven %q: got %q, %v and %v", file, given, got, w.Lost, w.Warnings)
			}
		}
	}
}

// TestCSIOwn: keys are found in any letter case and in all blocks of a section, in a key of
// either format at the place that its warning has.
func TestCSIOwn(t *testing.T) {
	const ini = "\ufeff[GLOBAL]\nQuery-Limit = 1\nuser = u\npassword = p\nsupervisor-id =\n[global]\ncluster-id = c ; a comment\n" +
		"[VirtualCenter \"vc.example.com\"]\nVC-Session-Manager-URL = \"https://s/\"\n[VirtualCenter \"b.example.com\"]\nFileVolumeActivated\n" +
		"[NetPermissions \"A\"]\nRootSquash\n"
	const yaml = "global: &g\n  query-limit: 1\n  user: u\n  password: p\n  supervisor-id: ''\n  cluster-id: &c c\n  cluster-distribution: [a]\n" +
		"vcenter:\n  vc.example.com: {vc-session-manager-url: 'https://s/'}\n  b.example.com:\n    <<: {filevolumeactivated: yes}\n    migration-datastore-url: *c\n"
	for file, want := range map[string][]string{
		ini:  {"2 query-limit 1", "7 cluster-id c", "9 vc-session-manager-url https://s/", "11 filevolumeactivated true"},
		yaml: {"2 query-limit 1", "6 cluster-id c", "9 vc-session-manager-url https://s/", "12 migration-datastore-url c", "11 filevolumeactivated yes"},
	} {
		l, err := load("f", []byte(file), parse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range slices.Concat(l.Schema.Global.Own, l.Schema.VCenters[0].Own, l.Schema.VCenters[1].Own) {
			got = append(got, fmt.Sprintf("%d %s %s", v.At.Line, v.Name, v.Value))
			if !slices.ContainsFunc(l.Config.Warnings, func(w config.Warning) bool { return v.At == problem.Position{Line: w.Line, Path: w.Field} }) {
				t.Errorf("no warning at %v", v.At)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	sections := csiSections([]byte(ini))
	if len(sections) != 1 || len(sections[0].values) != 1 || sections[0].values[0].Value != "true" {
		t.Errorf("got sections %v", sections)
	}
}
