// Package framework contains everything between vzones and k8s.io/cloud-provider. Each part works around the
// behavior of its controllers:
//
//   - Cache. The framework processes a Node when its informer reports a change, and retries an error at
//     intervals that grow to 15 minutes. An uninitialized Node usually depends on a vCenter's answer, which
//     changes no Node. Announce therefore calls the handlers once a Node can be initialized. Earlier
//     changes are held back, because each would log an error.
//   - The cache's lister hides foreign Nodes: other providers' and those excluded by nodes.selector. The
//     framework copies labels and removes its shutdown taint on every listed Node.
//   - LifecycleInformer omits Nodes that are not ready and have no answer yet. The framework asks about each
//     Node that is not ready every five seconds and logs each error.
//   - Guard. The framework deletes and patches by name, from a list that may be minutes old. The guard adds
//     the UID of the Node that the answer was about, and rejects writes without an answer. It also adds
//     annotations, reserved labels and TopologyReady, so that a joining Node costs three requests.
//
// The package decides nothing about a Node and never writes to a Node on its own.
package framework
