// Package fleet runs simulated vCenters, several in one process, from a short
// YAML description: for tests, for the demo and for benchmarks.
//
// It owns the inventory (built on govmomi's simulator), the server in front of
// each vCenter with a certificate, an account and a count of requests of its
// own, the faults that a test can bring upon one vCenter without touching the
// others, and the changes that an administrator would make while a client
// watches. It never looks at Kubernetes, and knows nothing of package vcenter
// or of any other client.
//
// The inventory is changed through this package's methods only. SOAP methods
// that would change it (…_Task, UnregisterVM) answer NotSupported: the machines
// here lack the files and devices that the simulator's own tasks rely on.
//
// Where govmomi's simulator and vCenter differ, and it matters to a client,
// this package follows vCenter:
//
//   - without a session, property reads are NotAuthenticated, as every method is;
//   - the user's name and password are checked, on SOAP and REST alike;
//   - each vCenter has an instance UUID of its own, and no two machines of a
//     fleet share a BIOS UUID unless the description says so;
//   - a long poll ends when its client goes, and when its session ends;
//   - a container view follows machines that move out of its container or into it;
//   - what the account has no right to see is not listed and not found, but an
//     object that is named outright is forbidden and not missing.
//
// Managed object IDs do repeat between the vCenters of a fleet: equal
// descriptions give equal IDs.
package fleet
