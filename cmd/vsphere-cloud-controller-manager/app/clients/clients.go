// Package clients makes clients of the API server whose requests pass a transport of the
// daemon's own. It decides nothing about a request.
package clients

import (
	"net/http"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
)

// Wrapped makes the clients of a builder, all of whose requests pass what Wrap returns.
type Wrapped struct {
	cloudprovider.ControllerClientBuilder
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Config implements cloudprovider.ControllerClientBuilder.
func (b Wrapped) Config(name string) (*rest.Config, error) {
	cfg, err := b.ControllerClientBuilder.Config(name)
	if err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(b.Wrap)
	return cfg, nil
}

// ConfigOrDie implements cloudprovider.ControllerClientBuilder.
func (b Wrapped) ConfigOrDie(name string) *rest.Config {
	cfg := rest.CopyConfig(b.ControllerClientBuilder.ConfigOrDie(name))
	cfg.Wrap(b.Wrap)
	return cfg
}

// Client implements cloudprovider.ControllerClientBuilder.
func (b Wrapped) Client(name string) (kubernetes.Interface, error) {
	cfg, err := b.Config(name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(cfg)
}

// ClientOrDie implements cloudprovider.ControllerClientBuilder.
func (b Wrapped) ClientOrDie(name string) kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(b.ConfigOrDie(name))
}
