package world

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"vzones/internal/quote"
)

// connect makes the client of the cluster, if one is needed.
func (w *World) connect(f *Flags) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.Overrides)
	if raw, err := rules.Load(); f.Overrides.ClusterInfo.Server != "" && (err != nil || api.IsConfigEmpty(raw)) {
		return errors.New("--server is for a kubeconfig: without one the token of this Pod would go there") // by client-go
	}
	cfg, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = noKubeconfig(rules)
		switch {
		case f.Config == "":
			return fmt.Errorf("there is no configuration: write --config FILE, or read that of the daemon: %w", err)
		case f.NeedsNodes || f.Kubeconfig != "":
			return err
		}
		w.NoNodes = err
		return nil
	}
	if err == nil {
		cfg.QPS, cfg.Burst, cfg.Timeout = 50, 100, cmp.Or(cfg.Timeout, f.Timeout, time.Minute)
		w.RESTConfig = cfg
		w.Client, err = kubernetes.NewForConfig(cfg)
	}
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %s", masked(err))
	}
	return nil
}

// userInfo is whatever may be the user and password of a URL in an error. They may have blanks, quotes and slashes.
var userInfo = regexp.MustCompile(`(?s)(//|").*@`)

// masked returns the text of an error without the user and password of a URL that cannot be parsed.
func masked(err error) string {
	return quote.Line(userInfo.ReplaceAllString(err.Error(), "$1[redacted]@"))
}

// noKubeconfig says why there is no cluster, and names the files that were looked for.
func noKubeconfig(rules *clientcmd.ClientConfigLoadingRules) error {
	files := rules.GetLoadingPrecedence()
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			return fmt.Errorf("the kubeconfig %s has no cluster: write --kubeconfig with another one", file)
		}
	}
	return fmt.Errorf("the kubeconfig %s does not exist: write --kubeconfig FILE, or set KUBECONFIG", strings.Join(files, ", "))
}
