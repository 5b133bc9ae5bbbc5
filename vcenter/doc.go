// Package vcenter reads the fleet's vCenters.
//
// A [Fleet] runs one monitor for each vCenter. The monitor logs in, runs one watch after another, and
// owns the vCenter's state. It publishes the state through an atomic pointer, so a failing vCenter
// affects no other vCenter. The fleet also confirms that a VM is absent with direct requests.
//
// The package never writes to a vCenter and does not depend on Kubernetes' API.
package vcenter
