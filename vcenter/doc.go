// Package vcenter reads the fleet's vCenters.
//
// A [Fleet] has one monitor for each vCenter. The monitor alone logs in, starts one watch after
// the other, and knows the state of its vCenter: configuration and credentials go in by
// messages, and the state comes out by an atomic pointer. One vCenter's failure is recorded
// in its own state and reaches no other vCenter. Beside that the fleet confirms that a
// machine is absent, by asking each vCenter directly.
//
// The package reads in batches: what a refresh costs follows the pages of the inventory,
// never the number of Nodes. It never writes to a vCenter and knows nothing of Kubernetes.
// The session is that of package session, what is read and how that of package watch.
package vcenter
