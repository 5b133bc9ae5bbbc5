package main

import (
	"context"
	"fmt"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	lifecyclecontroller "k8s.io/cloud-provider/controllers/nodelifecycle"
	"k8s.io/cloud-provider/names"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/klog/v2"

	"vzones/provider"
)

// topologyController is the name of our own for --controllers.
const topologyController = "topology-controller"

// aliases are the controllers' older names, which --controllers takes too.
func aliases() map[string]string { return names.CCMControllerAliases() }

// controllers are the framework's controllers by name. The names of those that
// serve load balancers and routes stay known, because deployments of the
// incumbent list them in --controllers.
func (d *daemon) controllers() map[string]app.ControllerInitFuncConstructor {
	defaults := app.DefaultInitFuncConstructors
	node := defaults[names.CloudNodeController]
	node.Constructor = d.nodeController
	lifecycle := defaults[names.CloudNodeLifecycleController]
	lifecycle.Constructor = d.lifecycleController
	return map[string]app.ControllerInitFuncConstructor{
		names.CloudNodeController:          node,
		names.CloudNodeLifecycleController: lifecycle,
		topologyController: {
			InitContext: app.ControllerInitContext{ClientName: provider.ClientName},
			Constructor: d.topologyController,
		},
		names.ServiceLBController: {Constructor: notOurs("load balancers")},
		names.NodeRouteController: {Constructor: notOurs("routes")},
	}
}

// nodeController is the framework's own node controller on an informer that
// the provider can wake it through.
func (d *daemon) nodeController(init app.ControllerInitContext, c *appconfig.CompletedConfig, cloud cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, cc genericapp.ControllerContext) (controller.Interface, bool, error) {
		n, err := nodecontroller.NewCloudNodeController(
			d.provider.NodeInformer(),
			c.ClientBuilder.ClientOrDie(init.ClientName),
			cloud,
			c.ComponentConfig.NodeStatusUpdateFrequency.Duration,
			c.ComponentConfig.NodeController.ConcurrentNodeSyncs,
			c.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates,
		)
		if err != nil {
			return nil, false, fmt.Errorf("making the node controller: %w", err)
		}
		go n.RunWithContext(ctx, cc.ControllerManagerMetrics)
		return nil, true, nil
	}
}

// lifecycleController is the framework's own on the same informer, which leaves
// out the Nodes of others, with a client that deletes no other Node than the one that the
// provider was asked about.
func (d *daemon) lifecycleController(init app.ControllerInitContext, c *appconfig.CompletedConfig, cloud cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, cc genericapp.ControllerContext) (controller.Interface, bool, error) {
		l, err := lifecyclecontroller.NewCloudNodeLifecycleController(
			d.provider.NodeInformer(),
			d.provider.LifecycleClient(c.ClientBuilder.ClientOrDie(init.ClientName)),
			cloud,
			c.ComponentConfig.NodeLifecycleController.NodeMonitorPeriod.Duration,
			int(c.ComponentConfig.NodeLifecycleController.ConcurrentNodeLifecycleSyncs),
		)
		if err != nil {
			return nil, false, fmt.Errorf("making the node lifecycle controller: %w", err)
		}
		go l.Run(ctx, cc.ControllerManagerMetrics)
		return nil, true, nil
	}
}

// topologyController is the one that keeps the topology labels of initialised
// Nodes true.
func (d *daemon) topologyController(init app.ControllerInitContext, c *appconfig.CompletedConfig, _ cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, _ genericapp.ControllerContext) (controller.Interface, bool, error) {
		client := c.ClientBuilder.ClientOrDie(init.ClientName)
		own, end := newPod(ctx, client)
		d.group.Go(func() error {
			defer end()
			return d.nodes.KeepLabels(d.ctx, client, own.tell)
		})
		return nil, true, nil
	}
}

func notOurs(what string) app.InitFuncConstructor {
	return func(app.ControllerInitContext, *appconfig.CompletedConfig, cloudprovider.Interface) app.InitFunc {
		return func(ctx context.Context, _ genericapp.ControllerContext) (controller.Interface, bool, error) {
			klog.FromContext(ctx).V(2).Info("The controller is not a part of vzones; leave it out of --controllers", "serves", what)
			return nil, false, nil
		}
	}
}
