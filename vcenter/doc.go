// Package vcenter reads the fleet's vCenters.
//
// It owns the session of each vCenter, the requests that are sent to it, and
// the snapshot that is made of the answers; every govmomi type stays in here.
// Reading is batched: what a refresh costs follows the pages of the inventory,
// never the number of Nodes. One vCenter's trouble is recorded in its own
// state and touches no other vCenter. The package never writes to a vCenter
// and knows nothing of Kubernetes.
package vcenter
