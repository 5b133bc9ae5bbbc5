package beside

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	lifecyclecontroller "k8s.io/cloud-provider/controllers/nodelifecycle"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
)

const (
	theirScheme = "other://"
	theirZone   = "other-1"
	theirRegion = "other"
)

type instance struct {
	id, address string
	isStopped   bool
}

// A cloud is another provider. As most providers' it finds the instance of a Node without a provider ID by its name, and
// returns an error for a provider ID of another scheme.
type cloud struct {
	mu sync.Mutex
	// instances are the instances by the name of their Node.
	instances map[string]*instance
	made      int
	isDown    bool
}

var errDown = errors.New("the other cloud does not respond")

func newCloud() *cloud { return &cloud{instances: map[string]*instance{}} }

// change calls f with the lock.
func (c *cloud) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// create returns the provider ID of a new instance.
func (c *cloud) create(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	i := &instance{id: fmt.Sprintf("%si-%d", theirScheme, c.made), address: fmt.Sprintf("192.168.%d.%d", c.made/250, 1+c.made%250)}
	c.instances[name] = i
	return i.id
}

// find requires the lock. It returns cloudprovider.InstanceNotFound if the cloud certainly has no instance.
func (c *cloud) find(node *v1.Node) (*instance, error) {
	id := node.Spec.ProviderID
	i := c.instances[node.Name]
	switch {
	case c.isDown:
		return nil, errDown
	case id != "" && !strings.HasPrefix(id, theirScheme):
		return nil, fmt.Errorf("%s is not the ID of an instance", id)
	case i == nil || id != "" && i.id != id:
		return nil, cloudprovider.InstanceNotFound
	}
	return i, nil
}

// InstanceExists implements cloudprovider.InstancesV2.
func (c *cloud) InstanceExists(_ context.Context, node *v1.Node) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.find(node)
	if errors.Is(err, cloudprovider.InstanceNotFound) && node.Spec.ProviderID != "" {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (c *cloud) InstanceShutdown(_ context.Context, node *v1.Node) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.find(node)
	return err == nil && i.isStopped, err
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (c *cloud) InstanceMetadata(_ context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.find(node)
	if err != nil {
		return nil, err
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID: i.id, InstanceType: "large", Zone: theirZone, Region: theirRegion,
		NodeAddresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: i.address}},
	}, nil
}

func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)                    { return c, true }
func (c *cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool)                  { return nil, false }
func (c *cloud) Instances() (cloudprovider.Instances, bool)                        { return nil, false }
func (c *cloud) Zones() (cloudprovider.Zones, bool)                                { return nil, false }
func (c *cloud) Clusters() (cloudprovider.Clusters, bool)                          { return nil, false }
func (c *cloud) Routes() (cloudprovider.Routes, bool)                              { return nil, false }
func (c *cloud) ProviderName() string                                              { return "other" }
func (c *cloud) HasClusterID() bool                                                { return true }

// run runs the other provider's cloud controller manager until stop is called.
func (c *cloud) run(client kubernetes.Interface) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes := factory.Core().V1().Nodes()
	initializing, err := nodecontroller.NewCloudNodeController(nodes, client, c, 2*time.Second, 5, 5)
	if err != nil {
		cancel()
		return nil, err
	}
	lifecycle, err := lifecyclecontroller.NewCloudNodeLifecycleController(nodes, client, c, time.Second, 5)
	if err != nil {
		cancel()
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	metrics := controllersmetrics.NewControllerManagerMetrics("other")
	var running sync.WaitGroup
	running.Go(func() { initializing.RunWithContext(ctx, metrics) })
	running.Go(func() { lifecycle.Run(ctx, metrics) })
	return func() { cancel(); running.Wait(); factory.Shutdown() }, nil
}
