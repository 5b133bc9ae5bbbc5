// Package framework contains everything between vzones and k8s.io/cloud-provider, whose controllers read
// Nodes, ask the provider about them, and write them by name. Each part works around a behavior of the
// framework:
//
//   - Cache. The framework processes a Node when its informer reports a change, and retries an error at
//     intervals that grow to 15 minutes. An uninitialized Node usually depends on a vCenter's answer, which
//     changes no Node. Announce therefore calls the framework's handlers once a Node can be initialized.
//     Earlier changes are held back, because the framework would log an error for each.
//   - The cache's lister hides foreign Nodes, which belong to other providers or are excluded by
//     nodes.selector. The framework copies labels and removes its shutdown taint on every listed Node.
//   - slim keeps only the fields that are read.
//   - LifecycleInformer. The framework asks about each Node that is not ready every five seconds and logs
//     each error. The lister contains only Nodes for which there is an answer.
//   - Guard. The framework deletes and patches by name, from a list that may be minutes old. The guard adds
//     the UID of the Node that the answer was about, and rejects writes without an answer. It also adds
//     annotations, reserved labels and the condition, so that a joining Node costs three requests.
//
// The package decides nothing about a Node and never writes to a Node on its own.
package framework
