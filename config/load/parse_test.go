package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/config/configtest"
)

func TestReadNamesTheFileItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vsphere.conf")
	cfg, err := Read(path)
	if cfg != nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v and error %v", cfg, err)
	}
}

func TestReadKeepsTheFile(t *testing.T) {
	path := configtest.Path(t, "good", "no-labels.yaml")
	cfg, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.File != path || cfg.Topology.Policy.Labels() != nil || cfg.Warnings != nil ||
		!reflect.DeepEqual(cfg.Addresses, config.AddressRules{}) {
		t.Errorf("got %+v", cfg)
	}
	if got := cfg.VCenters[0].Password.Reveal(); got != "password" {
		t.Errorf("got password %q", got)
	}
}

func TestPasswordsAreTakenAsWritten(t *testing.T) {
	for written, want := range map[string]string{
		"12345678":             "12345678",
		"0123":                 "0123",
		"1e3":                  "1e3",
		"true":                 "true",
		"2020-01-01":           "2020-01-01",
		"a#b":                  "a#b",
		`"with \"quotes\" #1"`: `with "quotes" #1`,
		"'it''s: {odd}'":       "it's: {odd}",
		"'*star'":              "*star",
		"!!str 12":             "12",
		`50%$;\`:               `50%$;\`,
		`'back\slash'`:         `back\slash`,
		`"back\\slash"`:        `back\slash`,
		"!!binary aGk=":        "",
	} {
		cfg, err := Parse("f", []byte("vcenter:\n  10.0.0.1:\n    user: user\n    password: "+written+"\n"))
		wantPassword(t, written, want, cfg, err)
	}
}

// wantPassword checks what a password, as it is written, was read as; "" is that it
// is a mistake.
func wantPassword(t *testing.T, written, want string, cfg *config.Config, err error) {
	t.Helper()
	switch {
	case want == "":
		if err == nil {
			t.Errorf("password %s: no error", written)
		}
	case err != nil:
		t.Errorf("password %s: %v", written, err)
	case cfg.VCenters[0].Password.Reveal() != want:
		t.Errorf("password %s: got %q, want %q", written, cfg.VCenters[0].Password.Reveal(), want)
	}
}

func TestWordsForTruth(t *testing.T) {
	for word, want := range map[string]bool{
		"true": true, "True": true, "TRUE": true, "yes": true, "On": true, "y": true,
		"false": false, "False": false, "no": false, "OFF": false, "n": false,
	} {
		cfg, err := Parse("f", []byte("global:\n  insecureFlag: "+fmt.Sprint(!want)+
			"\nvcenter:\n  10.0.0.1:\n    insecureFlag: "+word+"\n"+configtest.AnAccount))
		if err != nil {
			t.Errorf("%s: %v", word, err)
		} else if got := cfg.VCenters[0].Insecure; got != want {
			t.Errorf("%s: got %t", word, got)
		}
	}
}

// TestMergesCostNoMoreThanTheFile builds a pyramid: each of its mappings merges
// the one below twice.
func TestMergesCostNoMoreThanTheFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("vcenter:\n  vc0.example.com: &m0\n" + configtest.AnAccount)
	const levels = 60
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, "  vc%d.example.com: &m%d\n    <<: [*m%d, *m%d]\n", i, i, i-1, i-1)
	}
	began := time.Now()
	cfg, err := Parse("f", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.VCenters) != levels || cfg.VCenters[levels-1].User != "user" {
		t.Errorf("got %d vCenters", len(cfg.VCenters))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestBrokenLineOfALongFile(t *testing.T) {
	for _, entries := range []int{200, 2000} {
		var b strings.Builder
		b.WriteString("vcenter:\n")
		for i := range entries {
			fmt.Fprintf(&b, "  vc%d.example.com:\n"+configtest.AnAccount, i)
		}
		b.WriteString("labels: [\n")
		_, err := Parse("f", []byte(b.String()))
		all, _ := errors.AsType[config.Errors](err)
		if len(all) != 1 || entries == 200 && all[0].Line != 3*entries+2 {
			t.Errorf("%d entries: got %v", entries, err)
		}
	}
}

func TestOrderOfTheFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("vcenter:\n")
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("vc%d.example.com", (i*7)%20))
		fmt.Fprintf(&b, "  %s:\n"+configtest.AnAccount, want[i])
	}
	cfg, err := Parse("f", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, vc := range cfg.VCenters {
		got = append(got, vc.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestVCentersShareNothing: what two entries inherit is not one slice, but for
// certificates: see TestLargeCAFiles.
func TestVCentersShareNothing(t *testing.T) {
	cfg, err := Parse("f", []byte("global:\n  datacenters: [dc1]\n  ipFamily: [ipv6]\n"+
		"vcenter:\n  10.0.0.1:\n"+configtest.AnAccount+"  10.0.0.2:\n"+configtest.AnAccount))
	if err != nil {
		t.Fatal(err)
	}
	a, b := cfg.VCenters[0], cfg.VCenters[1]
	a.Datacenters[0], a.IPFamilies[0] = "x", "x"
	if b.Datacenters[0] != "dc1" || b.IPFamilies[0] != "ipv6" {
		t.Errorf("got %v, %v", b.Datacenters, b.IPFamilies)
	}
}

// TestPasswordsOfFiles: the golden files show none.
func TestPasswordsOfFiles(t *testing.T) {
	for path, want := range map[string][]string{
		"ini-good/in-tree-tutorial.conf": {`made-up 50%$;#'"\`},
		"ini-good/cpi-every-key.conf":    {"made-up-own-password"},
		"good/tenants.yaml":              {`m@de-up 50%$;\`, "", ""},
		"good/account-for-all.yaml":      {"made-up # password"},
	} {
		folder, file := filepath.Split(path)
		cfg, err := Read(configtest.Path(t, folder, file))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var got []string
		for _, vc := range cfg.VCenters {
			got = append(got, vc.Password.Reveal())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got passwords %q, want %q", path, got, want)
		}
	}
}

// TestParseKeepsNothing: it may be called again and again, by several at once, and
// leaves what it is given as it is.
func TestParseKeepsNothing(t *testing.T) {
	for _, path := range []string{"good/ca-data.yaml", "ini-good/cpi-every-key.conf"} {
		folder, file := filepath.Split(path)
		path = configtest.Path(t, folder, file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		environ := []string{"VSPHERE_USER=env", "VSPHERE_PASSWORD=env"}
		results := make(chan string, 8)
		for range cap(results) {
			go func() {
				cfg, err := Parse("f", data, environ...)
				if err != nil {
					results <- err.Error()
					return
				}
				results <- dump(cfg)
			}()
		}
		want := <-results
		for range cap(results) - 1 {
			if got := <-results; got != want {
				t.Errorf("got:\n%s\nand:\n%s", got, want)
			}
		}
		again, err := os.ReadFile(path)
		if err != nil || !slices.Equal(again, data) || environ[0] != "VSPHERE_USER=env" {
			t.Errorf("changed what it was given: %v", err)
		}
	}
}

func TestAccounts(t *testing.T) {
	// Where a Secret applies, another vCenter's account is not tried.
	cfg, err := Parse("f", []byte("global:\n  user: shared\n  password: shared\n"+
		"vcenter:\n  10.0.0.1:\n    secretName: s\n    secretNamespace: n\n  10.0.0.2:\n  10.0.0.3:\n    user: own\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{" ", "shared shared", "own shared"} {
		vc := cfg.VCenters[i]
		if got := vc.User + " " + vc.Password.Reveal(); got != want {
			t.Errorf("vCenter %s: got %q, want %q", vc.Name, got, want)
		}
	}
}
