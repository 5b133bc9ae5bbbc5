// Package inventory contains the snapshots of the vCenters and finds the VM of a Node in them.
//
// Snapshots and states are plain immutable data, so readers need no lock.
//
// # Which VM is a Node's
//
// A BIOS UUID is not unique: clones, backups, replicas and both ends of a move share it. The home of a Node
// is the managed object in which its VM was last found. The other matches are the VMs with the Node's UUID
// except the home. Find follows this table, and findByUUID evaluates it from top to bottom:
//
//	home                      other matches            result
//	1  shown, on              none, or off             home
//	2                         one or more may run      ambiguous
//	3  shown, off             none                     home; shut down if its vCenter can be read
//	4                         off                      home; not shut down, because the Node may run as any
//	                                                   of them
//	5                         one may run              that VM if it runs, every vCenter can be read, and it
//	                                                   is the same VM or the Node has outlived its home;
//	                                                   otherwise unknown
//	6                         several may run          ambiguous
//	7  shown, perhaps on      none, or off             home as last read, or unknown if its configuration
//	                                                   cannot be read; callers check the age
//	8                         one or more may run      unknown
//	9  not shown, not known   any                      unknown; its vCenter is asked about the home
//	   to be gone
//	10 gone                   none                     absent, if nothing is uncertain
//	11                        off                      unknown
//	12                        one may run              that VM if it runs, every vCenter can be read, and it
//	                                                   is the same VM; otherwise unknown
//	13                        several may run          ambiguous
//	14 no longer configured   none, or off             unknown
//	15                        one may run              that VM if it runs, every vCenter can be read, and it
//	                                                   is the same VM or no entry has the name of the removed
//	                                                   vCenter; otherwise unknown
//	16                        several may run          ambiguous
//	17 no home                none                     absent, if nothing is uncertain
//	18                        off                      unknown
//	19                        one runs                 that VM, once each vCenter was read, has failed or is
//	                                                   overdue
//	20                        one may run              that VM, if nothing is uncertain
//	21                        several, and one runs    ambiguous
//	22                        several may run          ambiguous, if nothing is uncertain
//
// A home is shown if a snapshot contains it with the Node's UUID. It is perhaps on if its power state,
// configuration or vCenter cannot be read, or is not read yet. A VM may run unless it is off. A VM that was off
// before its host was disconnected is off in rows 1 to 18, and may run in rows 19 to 22, where another match may
// run.
//
// PowerOf reports a Node as shut down only in row 3. Exists reports an absence only in rows 10 and 17.
//
// A joining Node has only the home that its kubelet claims. The claim applies while that VM may exist, in
// rows 8 and 9. Otherwise the Node has no home, the claimed VM is an ordinary match, and the Node gets
// another VM only if that VM runs and every vCenter can be read. A powered-off VM is therefore never given
// to a joining Node, and becomes no Node's home.
//
// Another managed object is the same VM if it has the instance UUID of the home (config.instanceUuid, which
// distinguishes VMs with one BIOS UUID in a vCenter and survives a move), or if its guest reports an address
// of the Node. A Node has outlived its home if it stayed ready while its home was off, for longer than a
// kubelet can be silent.
//
// While two addresses report one vCenter's instance UUID, no Node without a home gets a VM of either (rows 19, 20, 22).
package inventory
