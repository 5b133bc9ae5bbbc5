package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/test/stack"
)

const configFile = "vsphere.yaml"

func configCommands() []command {
	return []command{
		{"config swap FILE [in-place | renamed]",
			"replaces the configuration of the running daemon with a section: atomically, as the kubelet does with a mounted ConfigMap; " +
				"`in-place`, `renamed`: as editors do, by truncating and rewriting the file, or by renaming a new file to its name", swapConfig},
		{"config FILE", "sets the configuration for the next daemon start to a further section, such as `new.yaml`", func(a *arguments) action {
			c := a.configuration(a.word("FILE"))
			return func(_ context.Context, w *world) error { w.config = c; return nil }
		}},
		{"ca write VCENTER", "writes the CA of the vCenter's current certificate to its `caFile`", func(a *arguments) action {
			names := a.vcenters()
			return func(_ context.Context, w *world) (err error) {
				for _, name := range names {
					err = errors.Join(err, w.stack.WriteCA(w.stack.Fleet.VCenter(name)))
				}
				return err
			}
		}},
		{"secret write [VCENTER] [password=PASSWORD] [name=SECRET]",
			"replaces the content of the Secret with the current credentials of all vCenters; VCENTER: changes only the credentials of this vCenter; `password=`: writes this password instead; " +
				"`name=`: writes another Secret, NAME or NAMESPACE/NAME, and allows the daemon to read it", writeSecret},
		{"secret file SECRET FILE [key=KEY]", "writes a section to a Secret; the key is the section's name or KEY", secretFile},
		{"secret touch", "adds an annotation to the Secret", func(*arguments) action {
			return func(ctx context.Context, w *world) error { return w.stack.TouchSecret(ctx, stack.TheSecret()) }
		}},
		{"secret delete [SECRET]", "deletes the Secret, or another Secret", func(a *arguments) action {
			name := stack.TheSecret()
			if len(a.words) > 0 {
				name = a.secret(a.word("SECRET"))
			}
			return func(ctx context.Context, w *world) error { return w.stack.DeleteSecret(ctx, name) }
		}},
		{"credentials swap [VCENTER] [password=PASSWORD]",
			"changes the files in the directory `${credentials}` as `secret write` changes the Secret: atomically, as the kubelet does with a mounted Secret", swapCredentials},
		{"pod event REASON [count=N | says TEXT] [within DURATION]", "waits for Events with this reason about the daemon's Pod; the arguments are those of the condition `event`", podEvent},
	}
}

func (a *arguments) configuration(name string) *configuration {
	c := a.p.configs[name]
	if c == nil {
		a.fail("there is no section %q above the script", name)
	}
	return c
}

func swapConfig(a *arguments) action {
	c := a.configuration(a.word("FILE"))
	how := ""
	for _, known := range []string{stack.InPlace, stack.Renamed} {
		if a.next(known) {
			how = known
		}
	}
	return func(_ context.Context, w *world) error {
		w.config = c
		return w.writeConfig(how)
	}
}

// writeConfig writes the configuration file like the kubelet, or as how specifies.
func (w *world) writeConfig(how string) error {
	data, err := w.render(w.config)
	if err != nil {
		return err
	}
	if how != "" {
		return w.mount.Write(configFile, data, how)
	}
	return w.mount.Swap(map[string][]byte{configFile: data})
}

func (a *arguments) secret(word string) types.NamespacedName {
	namespace, name, ok := strings.Cut(word, "/")
	if !ok {
		namespace = stack.TheSecret().Namespace
		name = word
	}
	if namespace == "" || name == "" {
		a.fail("%q is not a SECRET, NAME or NAMESPACE/NAME", word)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (a *arguments) option(key string) (string, bool) {
	if len(a.words) == 0 || !strings.HasPrefix(a.words[0], key) {
		return "", false
	}
	value := strings.TrimPrefix(a.word(key), key)
	if value == "" {
		a.fail("a value is missing after %s", key)
	}
	return value, true
}

// credentials reads [VCENTER] [password=PASSWORD] and returns a function that changes these credentials in data.
func (a *arguments) credentials() func(w *world, data map[string][]byte) map[string][]byte {
	names := []string{}
	if len(a.words) > 0 && !strings.Contains(a.words[0], "=") {
		names = a.vcenters()
	}
	password, given := a.option("password=")
	return func(w *world, data map[string][]byte) map[string][]byte {
		vcenters := names
		if len(vcenters) == 0 {
			vcenters = w.stack.Fleet.Names()
			data = nil
		}
		changed := maps.Clone(data)
		if changed == nil {
			changed = map[string][]byte{}
		}
		if given {
			w.secrets.Add("a password of the script", password)
		}
		for _, name := range vcenters {
			for key, value := range stack.Credentials(w.stack.Fleet.VCenter(name)) {
				if given && strings.HasSuffix(key, ".password") {
					value = []byte(password)
				}
				changed[key] = value
			}
		}
		return changed
	}
}

func writeSecret(a *arguments) action {
	change := a.credentials()
	target := stack.TheSecret()
	if name, ok := a.option("name="); ok {
		target = a.secret(name)
	}
	return func(ctx context.Context, w *world) error {
		data, err := w.stack.Secret(ctx, target)
		if err != nil {
			return err
		}
		return w.stack.PutSecret(ctx, target, change(w, data))
	}
}

func secretFile(a *arguments) action {
	target := a.secret(a.word("SECRET"))
	name := a.word("FILE")
	c := a.configuration(name)
	key := name
	if other, ok := a.option("key="); ok {
		key = other
	}
	return func(ctx context.Context, w *world) error {
		data, err := w.render(c)
		if err != nil {
			return err
		}
		return w.stack.PutSecret(ctx, target, map[string][]byte{key: data})
	}
}

func swapCredentials(a *arguments) action {
	change := a.credentials()
	return func(_ context.Context, w *world) error {
		w.files = change(w, w.files)
		return w.credentials.Swap(w.files)
	}
}

func podEvent(a *arguments) action {
	check := a.events()
	timeout := a.timeout()
	return func(ctx context.Context, w *world) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err := w.observer.await(ctx, w.ended(), func(s view) bool { return check(s.ofPod()) == "" })
		if err == nil {
			return nil
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("not met within %s", timeout)
		}
		var actual string
		w.observer.withView(func(s view) { actual = check(s.ofPod()) })
		return fmt.Errorf("%w; actual: %s", err, actual)
	}
}

func (s view) ofPod() []*v1.Event {
	pod := stack.Pod()
	return slices.DeleteFunc(slices.Collect(maps.Values(s.events)), func(e *v1.Event) bool {
		about := e.InvolvedObject
		return about.Kind != pod.Kind || about.Namespace != pod.Namespace || about.Name != pod.Name || about.UID != pod.UID
	})
}
