package convert

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/config/configtest"
	"vzones/config/load"
)

// FuzzWrite checks that the output of every valid file is valid, means the same, and contains no password.
func FuzzWrite(f *testing.F) {
	for _, folder := range []string{"good", "ini-good", "csi"} {
		for _, c := range configtest.Cases(f, folder) {
			data := c.Data
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := load.Options{SkipFiles: true}.Parse("f", data)
		if err != nil {
			return
		}
		effective, err := Effective("f", data)
		if err != nil {
			t.Fatal(err)
		}
		converted, err := ToYAML("f", data, aRef)
		if _, configErrs := errors.AsType[config.Errors](err); err != nil && !configErrs {
			t.Fatal(err)
		}
		checkWritten(t, data, effective, want)
		if converted != nil {
			withoutAccounts := *want
			withoutAccounts.VCenters = append([]config.VCenter(nil), want.VCenters...)
			for i := range withoutAccounts.VCenters {
				moveAccount(&withoutAccounts.VCenters[i])
			}
			checkWritten(t, data, converted, &withoutAccounts)
		}
	})
}

// moveAccount applies the effect of ToYAML to a vCenter.
func moveAccount(vc *config.VCenter) {
	if vc.Secret == (config.SecretRef{}) && vc.SecretsDirectory == "" {
		vc.Secret = aRef
	}
	vc.User, vc.Password = "", config.Password{}
}

func checkWritten(t *testing.T, data []byte, w *Written, want *config.Config) {
	t.Helper()
	for _, vc := range want.VCenters {
		if load.IsPEM(vc.User) {
			return // A certificate without its key is invalid.
		}
	}
	got, err := load.Options{SkipFiles: true}.Parse("f", w.Data)
	if err != nil {
		t.Fatalf("does not load: %v\n%s", err, w.Data)
	}
	sameMeaning(t, got, want)
	for _, password := range configtest.SecretsOf(data, load.IsINI(data)) {
		if strings.Contains(string(w.Data), password) {
			t.Errorf("shows the password %q:\n%s", password, w.Data)
		}
	}
}

// Certificate and key are stored unchanged, and the key is not shown.
func TestAccountsThatAreCertificates(t *testing.T) {
	a := configtest.NewAccount(t, configtest.RSAKey(t), time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	literal := func(s string) string { return "|\n      " + strings.ReplaceAll(s, "\n", "\n      ") + "\n" }
	data := []byte("vcenter:\n  10.0.0.1:\n    user: " + literal(a.Certificate) + "    password: " + literal(a.Key))
	w, err := ToYAML("f", data, aRef)
	if err != nil {
		t.Fatal(err)
	}
	c, err := load.Parse("f", data)
	if err != nil || strings.TrimSpace(c.VCenters[0].User) != strings.TrimSpace(a.Certificate) {
		t.Fatal(err)
	}
	checkAccounts(t, w, []string{"10.0.0.1", c.VCenters[0].User, c.VCenters[0].Password.Reveal()})
	if w, err = Effective("f", data); err != nil {
		t.Fatal(err)
	}
	if s := string(w.Data); !strings.Contains(s, "password: '[redacted]' # f:") || strings.Contains(s, "PRIVATE") || !strings.Contains(s, "-----BEGIN CERTIFICATE-----") {
		t.Errorf("got\n%s", s)
	}
}

// Names of INI sections stay unchanged, even if YAML would parse them as another type.
func TestNamesThatYAMLTakesForSomethingElse(t *testing.T) {
	for _, name := range []string{"<<", "=", "yes", "null", "~", "1_0", "1:20", "0x1", "!a", "&a", "*a", "-", "?", "{}"} {
		data := []byte("[VirtualCenter \"" + name + "\"]\nserver = 10.0.0.1\nuser = u\npassword = p\n")
		w, err := ToYAML("f", data, aRef)
		if err != nil {
			t.Fatal(err)
		}
		c, err := load.Parse("f", w.Data)
		if err != nil || c.VCenters[0].Name != name {
			t.Errorf("%q: got %v and error %v from\n%s", name, c, err, w.Data)
		}
	}
}
