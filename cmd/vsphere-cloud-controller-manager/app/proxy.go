package app

import (
	"context"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/cloud-provider/options"
	"k8s.io/klog/v2"
)

// logProxy logs the proxy on the way to the API server. HTTPS_PROXY is usually set for vCenters, and the client of
// the API server uses it too, unless NO_PROXY excludes its address. Errors are the framework's to report, which reads
// the same settings next.
func logProxy(ctx context.Context, opts *options.CloudControllerManagerOptions) {
	read := rest.InClusterConfig
	if kubeconfig := opts.Generic.ClientConnection.Kubeconfig; opts.Master != "" || kubeconfig != "" {
		read = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags(opts.Master, kubeconfig) }
	}
	cfg, err := read()
	if err != nil || cfg.Proxy != nil { // the kubeconfig has a proxy of its own
		return
	}
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: server}); err == nil && proxy != nil {
		klog.FromContext(ctx).Info("The API server is reached through the proxy of the environment: unless that is intended, write its address into NO_PROXY",
			"server", server.Host, "proxy", proxy.Host)
	}
}
