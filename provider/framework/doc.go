// Package framework is everything between vzones and k8s.io/cloud-provider, whose node controllers read Nodes, ask the
// provider about them, and write them by name. Each piece is here because the framework does something that vzones may
// not do:
//
//   - Cache. The framework looks at a Node when its informer reports a change, and after an error again at intervals that
//     grow to a quarter of an hour. What a waiting Node waits for is an answer of a vCenter, which changes no Node, so Announce
//     calls the framework's handlers once a Node can be initialized. Until then its changes are held back: the framework
//     would ask, get no answer and log that. There is no other way in: its queue is not exported, and a write that makes
//     the API server report a change would cost one request for each Node and outage.
//   - The cache's lister hides the Nodes of other providers and of nodes.selector. The framework copies labels and removes
//     its shutdown taint on each Node that it lists, whatever the provider answers.
//   - slim. The informer would keep a whole Node: managed fields, images and conditions, which a kubelet can make a megabyte
//     long. The cache keeps what is read, and indexes Nodes by machine and by address.
//   - LifecycleInformer. The framework asks about each Node that is not ready every five seconds, and logs each error.
//     Its lister has only Nodes about which there is an answer.
//   - Guard. The framework deletes and patches by name, from a list that may be minutes old. The guard puts the UID of the
//     Node that the answer was about into each write, and refuses a write that follows from no answer. It also adds
//     annotations, reserved labels and the condition to writes that happen anyway, so that a joining Node costs three.
//
// The package decides nothing about a Node, and writes to none on its own.
package framework
