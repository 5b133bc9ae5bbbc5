package app

import (
	"context"
	"fmt"
	"slices"

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

// topologyController is a name in --controllers.
const topologyController = "topology-controller"

func aliases() map[string]string { return names.CCMControllerAliases() }

// controllers returns the controllers by name. Manifests of the vSphere CPI also list the controllers for
// load balancers and routes, so their names stay valid.
func (a *App) controllers(ctx context.Context) map[string]app.ControllerInitFuncConstructor {
	defaults := app.DefaultInitFuncConstructors
	node := defaults[names.CloudNodeController]
	node.Constructor = a.nodeController
	lifecycle := defaults[names.CloudNodeLifecycleController]
	lifecycle.Constructor = a.lifecycleController
	return map[string]app.ControllerInitFuncConstructor{
		names.CloudNodeController:          node,
		names.CloudNodeLifecycleController: lifecycle,
		topologyController: {
			InitContext: app.ControllerInitContext{ClientName: provider.ClientName},
			Constructor: a.topologyController(ctx),
		},
		names.ServiceLBController: {Constructor: notOurs(names.ServiceLBController, "load balancers")},
		names.NodeRouteController: {Constructor: notOurs(names.NodeRouteController, "routes")},
	}
}

func (a *App) nodeController(init app.ControllerInitContext, c *appconfig.CompletedConfig, cloud cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, cc genericapp.ControllerContext) (controller.Interface, bool, error) {
		n, err := nodecontroller.NewCloudNodeController(
			a.provider.NodeInformer(),
			a.provider.Client(c.ClientBuilder.ClientOrDie(init.ClientName)),
			cloud,
			c.ComponentConfig.NodeStatusUpdateFrequency.Duration,
			c.ComponentConfig.NodeController.ConcurrentNodeSyncs,
			c.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates,
		)
		if err != nil {
			return nil, false, fmt.Errorf("creating the node controller: %w", err)
		}
		go n.RunWithContext(ctx, cc.ControllerManagerMetrics)
		return nil, true, nil
	}
}

func (a *App) lifecycleController(init app.ControllerInitContext, c *appconfig.CompletedConfig, cloud cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, cc genericapp.ControllerContext) (controller.Interface, bool, error) {
		l, err := lifecyclecontroller.NewCloudNodeLifecycleController(
			a.provider.LifecycleInformer(),
			a.provider.Client(c.ClientBuilder.ClientOrDie(init.ClientName)),
			cloud,
			c.ComponentConfig.NodeLifecycleController.NodeMonitorPeriod.Duration,
			int(c.ComponentConfig.NodeLifecycleController.ConcurrentNodeLifecycleSyncs),
		)
		if err != nil {
			return nil, false, fmt.Errorf("creating the node lifecycle controller: %w", err)
		}
		go l.Run(ctx, cc.ControllerManagerMetrics)
		return nil, true, nil
	}
}

// topologyController runs until the daemon's context is done. Stop waits for it.
func (a *App) topologyController(ctx context.Context) app.InitFuncConstructor {
	return func(init app.ControllerInitContext, c *appconfig.CompletedConfig, _ cloudprovider.Interface) app.InitFunc {
		return func(context.Context, genericapp.ControllerContext) (controller.Interface, bool, error) {
			client := c.ClientBuilder.ClientOrDie(init.ClientName)
			a.provider.EnableReadyCondition()
			pod, end := newPodRecorder(ctx, client)
			a.group.Go(func() error {
				defer end()
				return a.nodes.KeepLabels(ctx, pod.record)
			})
			return nil, true, nil
		}
	}
}

// notOurs returns a controller that does nothing. If --controllers names it, it logs advice.
func notOurs(name, purpose string) app.InitFuncConstructor {
	return func(_ app.ControllerInitContext, c *appconfig.CompletedConfig, _ cloudprovider.Interface) app.InitFunc {
		isNamed := slices.Contains(c.ComponentConfig.Generic.Controllers, name)
		return func(ctx context.Context, _ genericapp.ControllerContext) (controller.Interface, bool, error) {
			if isNamed {
				klog.FromContext(ctx).V(2).Info("The controller is not part of vzones; remove it from --controllers", "controller", name, "purpose", purpose)
			}
			return nil, false, nil
		}
	}
}
