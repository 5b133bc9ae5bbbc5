package world

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd/api"
)

func TestClusterName(t *testing.T) {
	kubeconfig := api.NewConfig()
	kubeconfig.CurrentContext = "admin@production"
	for name, c := range map[string]struct {
		set  func(*Flags)
		raw  *api.Config
		want string
	}{
		"the current context":         {raw: kubeconfig, want: "admin@production"},
		"--context":                   {raw: kubeconfig, set: func(f *Flags) { f.Overrides.CurrentContext = "staging" }, want: "staging"},
		"--cluster":                   {raw: kubeconfig, set: func(f *Flags) { f.Overrides.Context.Cluster = "other" }, want: "other"},
		"--server":                    {raw: kubeconfig, set: func(f *Flags) { f.Overrides.ClusterInfo.Server = "https://admin:secret@10.0.0.1:6443" }, want: "10.0.0.1:6443"},
		"in a Pod":                    {raw: api.NewConfig(), want: "10.0.0.1:6443"},
		"a kubeconfig that is unread": {want: "10.0.0.1:6443"},
		"a control sequence":          {set: func(f *Flags) { f.Overrides.CurrentContext = "a\x1b[2J" }, want: `a\x1b[2J`},
	} {
		f := &Flags{}
		if c.set != nil {
			c.set(f)
		}
		if got := f.clusterName(c.raw, "https://admin:secret@10.0.0.1:6443"); got != c.want {
			t.Errorf("%s: got the name %q, want %q", name, got, c.want)
		}
	}
}
