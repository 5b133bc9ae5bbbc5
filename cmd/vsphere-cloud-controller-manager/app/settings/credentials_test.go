package settings

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"vzones/cmd/vsphere-cloud-controller-manager/app/secrets"
	"vzones/config"
	"vzones/test/logcapture"
)

const (
	secretUser     = "ccm@vsphere.local"
	secretPassword = "FromTheSecret42"
	otherPassword  = "OfAnotherVCenter42"
	filePassword   = "FromTheFile42"
)

// aSecret has the credentials of two vCenters, without the given keys.
func aSecret(without ...string) *v1.Secret {
	s := &v1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "vsphere-credentials", ResourceVersion: "7"},
		Data: map[string][]byte{
			"vc-east.example.com.username": []byte(secretUser),
			"vc-east.example.com.password": []byte(secretPassword),
			"vc-west.example.com.username": []byte("other"),
			"vc-west.example.com.password": []byte(otherPassword),
		},
	}
	for _, key := range without {
		delete(s.Data, key)
	}
	return s
}

// east is a vCenter whose entry is not named after its address, which the keys contain.
func east(changes ...func(*config.VCenter)) *config.VCenter {
	c := &config.VCenter{
		Name: "east", Server: "vc-east.example.com",
		Secret: config.SecretRef{Namespace: "kube-system", Name: "vsphere-credentials"},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func withFile(c *config.VCenter) {
	c.User = "file-user"
	c.Password = config.NewPassword(filePassword)
}

func withoutSecret(c *config.VCenter) { c.Secret = config.SecretRef{} }

func TestCredentials(t *testing.T) {
	const userKey, passwordKey = "vc-east.example.com.username", "vc-east.example.com.password"
	empty := aSecret()
	empty.Data[passwordKey] = nil

	for _, c := range []struct {
		name           string
		secret         *v1.Secret
		cfg            *config.VCenter
		user, password string
		says           []string
	}{
		{name: "from the Secret", secret: aSecret(), cfg: east(), user: secretUser, password: secretPassword},
		{name: "the Secret wins over the file", secret: aSecret(), cfg: east(withFile), user: secretUser, password: secretPassword},
		{name: "from the file", secret: aSecret(), cfg: east(withFile, withoutSecret), user: "file-user", password: filePassword},
		{name: "the file where the Secret lacks the keys", secret: aSecret(userKey, passwordKey), cfg: east(withFile), user: "file-user", password: filePassword},
		{name: "the file where the Secret lacks the user", secret: aSecret(userKey), cfg: east(withFile), user: "file-user", password: filePassword},
		{name: "the file where the Secret lacks the password", secret: aSecret(passwordKey), cfg: east(withFile), user: "file-user", password: filePassword},
		{name: "the file where the Secret's password is empty", secret: empty, cfg: east(withFile), user: "file-user", password: filePassword},
		{name: "the file where there is no Secret", cfg: east(withFile), user: "file-user", password: filePassword},
		{name: "no Secret", cfg: east(), says: []string{"kube-system/vsphere-credentials", "not found"}},
		{name: "no keys", secret: aSecret(userKey, passwordKey), cfg: east(), says: []string{"kube-system/vsphere-credentials", userKey, passwordKey}},
		{name: "no user", secret: aSecret(userKey), cfg: east(), says: []string{"kube-system/vsphere-credentials", userKey}},
		{name: "no password", secret: aSecret(passwordKey), cfg: east(), says: []string{"kube-system/vsphere-credentials", passwordKey}},
		{name: "half of it in the file", secret: aSecret(passwordKey), cfg: east(func(c *config.VCenter) { c.User = "file-user" }), says: []string{passwordKey}},
		{name: "a Secret in another namespace", secret: aSecret(), cfg: east(func(c *config.VCenter) { c.Secret.Namespace = "default" }), says: []string{"default/vsphere-credentials"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var objects []runtime.Object
			if c.secret != nil {
				objects = append(objects, c.secret)
			}
			r := &CredentialFinder{Secrets: secrets.Once{Client: fake.NewClientset(objects...)}, Revision: func(context.Context) string { return "of the file" }}
			revision := map[string]string{secretUser: "7", "file-user": "of the file"}
			source := map[string]string{secretUser: "Secret kube-system/vsphere-credentials", "file-user": "the configuration"}
			got, err := r.Find(t.Context(), c.cfg)
			if c.says == nil {
				if err != nil || got.User != c.user || got.Password.Reveal() != c.password || got.Revision != revision[c.user] {
					t.Fatalf("Find: user %q, password %q, revision %q, error %v, want user %q, password %q, revision %q", got.User, got.Password.Reveal(), got.Revision, err, c.user, c.password, revision[c.user])
				}
				if got.Source != source[c.user] {
					t.Errorf("Find: source %q, want %q", got.Source, source[c.user])
				}
				return
			}
			if err == nil || got.User != "" || !got.Password.IsEmpty() {
				t.Fatalf("user %q, password %q, %v, want an error alone", got.User, got.Password.Reveal(), err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q is not in: %v", s, err)
				}
			}
			for _, s := range []string{secretUser, secretPassword, otherPassword, filePassword} {
				if strings.Contains(err.Error(), s) {
					t.Errorf("%q is in: %v", s, err)
				}
			}
		})
	}
}

// TestSecretThatCannotBeRead: the file's credentials do not replace an unreadable Secret, since they
// could lock an account.
func TestSecretThatCannotBeRead(t *testing.T) {
	client := fake.NewClientset(aSecret())
	forbidden := apierrors.NewForbidden(v1.Resource("secrets"), "vsphere-credentials", errors.New("RBAC"))
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	got, err := (&CredentialFinder{Secrets: secrets.Once{Client: client}}).Find(t.Context(), east(withFile))
	if !apierrors.IsForbidden(err) || got.User != "" || !strings.Contains(err.Error(), "kube-system/vsphere-credentials") {
		t.Errorf("Find with a forbidden Secret: user %q, error %v, want none, and that the Secret is forbidden", got.User, err)
	}
}

// answersWithSecret returns a client of an API server whose responses contain the Secret, and their
// HTTP status.
func answersWithSecret(t *testing.T) (kubernetes.Interface, *atomic.Int32) {
	t.Helper()
	status := new(atomic.Int32)
	status.Store(http.StatusOK)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Load()))
		_ = json.NewEncoder(w).Encode(&v1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, Items: []v1.Secret{*aSecret()}})
	}))
	t.Cleanup(srv.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, status
}

// leaks returns the credentials that a log contains, in plain text or base64.
func leaks(l *logcapture.Log) []string {
	var leaked []string
	for _, s := range []string{secretUser, secretPassword, otherPassword, filePassword} {
		for _, form := range []string{s, base64.StdEncoding.EncodeToString([]byte(s))} {
			if strings.Contains(l.String(), form) {
				leaked = append(leaked, form)
			}
		}
	}
	return leaked
}

// TestNothingSecretIsLogged: client-go logs the bodies of responses, which contain the Secret's values
// in base64.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Run("text", func(t *testing.T) { testNothingSecretIsLogged(t, false) })
	t.Run("json", func(t *testing.T) { testNothingSecretIsLogged(t, true) })
}

func testNothingSecretIsLogged(t *testing.T, asJSON bool) {
	t.Helper()
	client, status := answersWithSecret(t)
	// This proves that the steps below would find a leak.
	t.Run("one level higher", func(t *testing.T) {
		l := logcapture.CaptureAt(t, logcapture.Verbosity+1, asJSON)
		if _, err := client.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if len(leaks(l)) == 0 {
			t.Errorf("client-go no longer logs bodies, or not here:\n%s", l)
		}
	})
	t.Run("found", func(t *testing.T) {
		l := logcapture.Capture(t, asJSON)
		got, err := (&CredentialFinder{Secrets: secrets.Once{Client: client}}).Find(t.Context(), east(withFile))
		if err != nil || got.Password.Reveal() != secretPassword {
			t.Fatalf("Find: user %q, error %v, want the credentials of the Secret", got.User, err)
		}
		if leaked := leaks(l); len(leaked) > 0 {
			t.Errorf("logged: %q\n%s", leaked, l)
		}
	})
	t.Run("refused, with the Secret in the answer", func(t *testing.T) {
		status.Store(http.StatusForbidden)
		l := logcapture.Capture(t, asJSON)
		_, err := (&CredentialFinder{Secrets: secrets.Once{Client: client}}).Find(t.Context(), east(withFile))
		if err == nil {
			t.Fatal("no error")
		}
		klog.FromContext(t.Context()).Error(err, "Cannot read the vCenter")
		if leaked := leaks(l); len(leaked) > 0 {
			t.Errorf("logged: %q\n%s", leaked, l)
		}
	})
}
