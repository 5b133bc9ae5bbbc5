package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

const name = "vsphere"

// provider gives each Node what it would get of a vCenter, at once and without
// looking anything up, and as much of it as the daemon gives.
type provider struct{}

var (
	_ cloudprovider.Interface   = provider{}
	_ cloudprovider.InstancesV2 = provider{}
)

// InstanceMetadata is the same for every Node but for its name and UUID.
func (provider) InstanceMetadata(_ context.Context, n *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	return &cloudprovider.InstanceMetadata{
		ProviderID:   name + "://" + n.Status.NodeInfo.SystemUUID,
		InstanceType: "vsphere-vm.cpu-4.mem-8gb.os-ubuntu",
		NodeAddresses: []v1.NodeAddress{
			{Type: v1.NodeHostName, Address: n.Name},
			{Type: v1.NodeInternalIP, Address: "10.0.0.1"},
			{Type: v1.NodeExternalIP, Address: "10.0.0.1"},
		},
		Region: "floor",
		Zone:   "floor-1",
	}, nil
}

// InstanceExists is always true.
func (provider) InstanceExists(context.Context, *v1.Node) (bool, error) { return true, nil }

// InstanceShutdown is always false.
func (provider) InstanceShutdown(context.Context, *v1.Node) (bool, error) { return false, nil }

// Initialize has nothing to do.
func (provider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// InstancesV2 is the one interface that the provider has.
func (p provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p, true }

// ProviderName is the daemon's, since the flags are.
func (provider) ProviderName() string { return name }

// HasClusterID keeps the framework from asking for one.
func (provider) HasClusterID() bool { return true }

// LoadBalancer is not supported.
func (provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Instances is replaced by InstancesV2.
func (provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones is replaced by InstancesV2.
func (provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters is not supported.
func (provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes is not supported.
func (provider) Routes() (cloudprovider.Routes, bool) { return nil, false }
