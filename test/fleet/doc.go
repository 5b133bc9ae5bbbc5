// Package fleet runs simulated vCenters in one process, built from a short YAML description, for
// tests, the demo and benchmarks.
//
// It owns the inventory (built on govmomi's simulator), a server per vCenter with its own
// certificate, account and request counts, the faults that a test injects into one vCenter
// without affecting the rest, and the changes that an administrator would make while a client
// watches. It knows nothing about Kubernetes, package vcenter or any other client.
//
// The inventory is changed only through the methods of this package. SOAP methods that would
// change it (…_Task, UnregisterVM) return NotSupported, because the VMs lack the files and
// devices that the simulator's tasks rely on.
//
// Where govmomi's simulator differs from vCenter in a way that matters to a client, this package
// behaves like vCenter:
//
//   - without a session, property reads fail with NotAuthenticated, as every method does;
//   - user name and password are checked, over SOAP and REST;
//   - each vCenter has its own instance UUID, and no two VMs of a fleet share a BIOS UUID unless
//     the description sets it;
//   - a long poll ends when its client disconnects or its session ends;
//   - a container view follows VMs that move out of its container or into it;
//   - objects that the account may not see are neither listed nor found, but naming one in a
//     request fails with NoPermission instead of ManagedObjectNotFound.
//
// Managed object IDs repeat between the vCenters of a fleet: equal descriptions produce equal
// IDs.
package fleet
