package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

const name = "vsphere"

// provider returns the same metadata for every Node, as much as the daemon would.
type provider struct{}

var (
	_ cloudprovider.Interface   = provider{}
	_ cloudprovider.InstancesV2 = provider{}
)

// InstanceMetadata returns constants apart from the Node's name and UUID.
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

func (provider) InstanceExists(context.Context, *v1.Node) (bool, error) { return true, nil }

func (provider) InstanceShutdown(context.Context, *v1.Node) (bool, error) { return false, nil }

func (provider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (p provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p, true }

// ProviderName is the daemon's provider name, so both accept the same flags.
func (provider) ProviderName() string { return name }

// HasClusterID is true to skip the framework's check of the cluster ID.
func (provider) HasClusterID() bool { return true }

func (provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

func (provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

func (provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

func (provider) Routes() (cloudprovider.Routes, bool) { return nil, false }
