package load

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vzones/config"
	"vzones/config/configtest"
)

// TestAccountInTheEnvironment: it counts for vCenters of which the file has none, and
// which the CPI would therefore refuse. Nothing else is filled in.
func TestAccountInTheEnvironment(t *testing.T) {
	const (
		idle = "has no effect, because the file says where the credentials come from: remove it"
		// What says it instead of the file.
		directory = "has no effect, because the environment variable VSPHERE_SECRETS_DIRECTORY says where the credentials come from: remove it"
		secret    = "has no effect, because the environment variable VSPHERE_SECRET_NAME says where the credentials come from: remove it"

		user     = "environment variable VSPHERE_USER: "
		password = "environment variable VSPHERE_PASSWORD: "
		instead  = ", because the file has none there: write secretName and secretNamespace under global instead"
	)
	for _, c := range []struct {
		text string
		also []string
		want []string // the accounts, then the warnings
	}{
		{
			"vcenter:\n  10.0.0.1:\n  10.0.0.2: {user: own, password: own}\n  10.0.0.3:\n", nil,
			[]string{
				"env S3cretS3cret", "own own", "env S3cretS3cret",
				user + `is the user for vCenters "10.0.0.1", "10.0.0.3"` + instead,
				password + `is the password for vCenters "10.0.0.1", "10.0.0.3"` + instead,
			},
		},
		{
			"global: {user: file}\nvcenter:\n  10.0.0.1:\n", nil,
			[]string{"file S3cretS3cret", user + idle, password + `is the password for vCenter "10.0.0.1"` + instead},
		},
		{
			"global: {server: 10.0.0.1}\n", nil,
			[]string{"env S3cretS3cret", user + `is the user for vCenter "10.0.0.1"` + instead, password + `is the password for vCenter "10.0.0.1"` + instead},
		},
		{"vcenter:\n  10.0.0.1: {user: own, password: own}\n", nil, []string{"own own", user + idle, password + idle}},
		{"vcenter:\n  10.0.0.1: {secretName: s, secretNamespace: n}\n", nil, []string{" ", user + idle, password + idle}},
		{"global: {secretName: s, secretNamespace: n}\nvcenter:\n  10.0.0.1:\n", nil, []string{" ", user + idle, password + idle}},
		{"global: {secretsDirectory: /s}\nvcenter:\n  10.0.0.1:\n", nil, []string{" ", user + idle, password + idle}},
		{"vcenter:\n  10.0.0.1: {server: 10.0.0.1}\n", []string{"VSPHERE_SECRETS_DIRECTORY=/s"}, []string{" ", user + directory, password + directory}},
		// The half that the file has counts no more than the other.
		{
			"global: {user: file}\nvcenter:\n  10.0.0.1:\n", []string{"VSPHERE_SECRETS_DIRECTORY=/s"},
			[]string{" ", user + directory, password + directory, "f:1: global.user: has no effect without a password: the credentials come from the environment variable VSPHERE_SECRETS_DIRECTORY"},
		},
		// A fallback behind both of them, which the CPI does not have either.
		{"global: {secretName: s, secretNamespace: n}\nvcenter:\n  10.0.0.1:\n", []string{"VSPHERE_SECRETS_DIRECTORY=/s"}, []string{" ", user + idle, password + idle}},
		// OpenShift's.
		{"vcenter:\n  10.0.0.1:\n", []string{"VSPHERE_SECRET_NAME=s", "VSPHERE_SECRET_NAMESPACE=n"}, []string{" ", user + secret, password + secret}},
	} {
		cfg, err := Parse("f", []byte(c.text), append([]string{"VSPHERE_USER=env", "VSPHERE_PASSWORD=S3cretS3cret"}, c.also...)...)
		if err != nil {
			t.Errorf("%s%q: %v", c.text, c.also, err)
			continue
		}
		var got []string
		for _, vc := range cfg.VCenters {
			got = append(got, vc.User+" "+vc.Password.Reveal())
		}
		if got = append(got, configtest.WarningsOf(cfg)...); !slices.Equal(got, c.want) {
			t.Errorf("%s%q: got:\n%s\nwant:\n%s", c.text, c.also, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestSecretInTheEnvironment: these count in the CPI too, and nothing is said of them.
func TestSecretInTheEnvironment(t *testing.T) {
	cfg, err := Parse("f", []byte("[Global]\nsecret-name = file\nsecret-namespace = file\n[VirtualCenter \"10.0.0.1\"]\n"),
		"VSPHERE_SECRET_NAME=accounts", "VSPHERE_SECRET_NAMESPACE=kube-system")
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.VCenters[0].Secret; got != (config.SecretRef{Namespace: "kube-system", Name: "accounts"}) || len(cfg.Warnings) > 0 {
		t.Errorf("got %v, %v", got, cfg.Warnings)
	}
}

// TestSecretBesideAnAccount: a Secret or directory that only the environment names does
// not take the file's account from its vCenters, which in the CPI counts alone.
func TestSecretBesideAnAccount(t *testing.T) {
	const file = "global: {user: file, password: file}\nvcenter:\n  10.0.0.1:\n"
	secret := []string{"VSPHERE_SECRET_NAME=s", "VSPHERE_SECRET_NAMESPACE=n"}
	for _, c := range []struct {
		text    string
		environ []string
		want    string
	}{
		{file, secret, "file n/s "},
		{file, []string{"VSPHERE_SECRETS_DIRECTORY=/s"}, "file / /s"},
		{file, append(secret, "VSPHERE_SECRETS_DIRECTORY=/s"), "file n/s /s"},
		// Where the file itself names one, its account counts for nothing.
		{"global: {user: file, password: file, secretName: f, secretNamespace: f}\nvcenter:\n  10.0.0.1:\n", secret, " n/s "},
		{"global: {user: file, password: file, secretsDirectory: /f}\nvcenter:\n  10.0.0.1:\n", []string{"VSPHERE_SECRETS_DIRECTORY=/s"}, " / /s"},
		{"global: {user: file, password: file}\nvcenter:\n  10.0.0.1: {secretName: f, secretNamespace: f}\n", secret, " f/f "},
		{"global: {user: file, password: file, secretName: f, secretNamespace: f}\nvcenter:\n  10.0.0.1:\n", []string{"VSPHERE_SECRETS_DIRECTORY=/s"}, " f/f /s"},
		{"global: {user: file, password: file, secretsDirectory: /f}\nvcenter:\n  10.0.0.1:\n", secret, " n/s /f"},
		{"[Global]\nuser = file\npassword = file\nsecrets-directory = /f\n[VirtualCenter \"10.0.0.1\"]\n", secret, " n/s /f"},
		// The file names both.
		{"global: {user: file, password: file, secretName: f, secretNamespace: f, secretsDirectory: /f}\nvcenter:\n  10.0.0.1:\n", secret, "file n/s /f"},
	} {
		cfg, err := Parse("f", []byte(c.text), c.environ...)
		if err != nil {
			t.Errorf("%s%q: %v", c.text, c.environ, err)
			continue
		}
		vc := cfg.VCenters[0]
		if got := fmt.Sprintf("%s %s/%s %s", vc.User, vc.Secret.Namespace, vc.Secret.Name, vc.SecretsDirectory); got != c.want {
			t.Errorf("%s%q: got %q, want %q", c.text, c.environ, got, c.want)
		}
	}
}
