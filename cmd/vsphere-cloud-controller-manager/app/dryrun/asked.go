package dryrun

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/provider"
	"vzones/provider/absence"
)

// asked is what the framework has asked the provider about each Node.
type asked struct {
	mu sync.Mutex
	// metadata is when it last asked for what to write.
	metadata map[types.UID]time.Time
	// searching are the Nodes whose machines were being searched for when it last asked
	// whether they exist.
	searching map[types.UID]bool
}

func newAsked() *asked {
	return &asked{metadata: map[types.UID]time.Time{}, searching: map[types.UID]bool{}}
}

func (a *asked) forMetadata(node types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.metadata[node] = time.Now()
}

func (a *asked) forExistence(node types.UID, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.searching[node] = errors.Is(err, absence.ErrConfirming) && !errors.Is(err, absence.ErrSearchFailed)
}

// since reports whether the framework has asked for what to write to a Node since a time.
func (a *asked) since(node types.UID, at time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.metadata[node].After(at)
}

// isSearching reports whether a Node's machine is being searched for, so that the Node may be
// deleted next.
func (a *asked) isSearching(node types.UID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.searching[node]
}

// cloud is the provider for the framework, whose questions are noted.
type cloud struct {
	*provider.Provider
	asked *asked
}

var (
	_ cloudprovider.InstancesV2  = cloud{}
	_ cloudprovider.InformerUser = cloud{}
)

// InstancesV2 implements cloudprovider.Interface.
func (c cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c, true }

// InstanceMetadata implements cloudprovider.InstancesV2.
func (c cloud) InstanceMetadata(ctx context.Context, n *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	c.asked.forMetadata(n.UID)
	return c.Provider.InstanceMetadata(ctx, n)
}

// InstanceExists implements cloudprovider.InstancesV2.
func (c cloud) InstanceExists(ctx context.Context, n *v1.Node) (bool, error) {
	exists, err := c.Provider.InstanceExists(ctx, n)
	c.asked.forExistence(n.UID, err)
	return exists, err
}
