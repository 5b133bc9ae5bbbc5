// Package inventory holds what was read of the fleet's vCenters, and finds the VM of a Node in it.
//
// It owns the snapshot of a vCenter, the details of a VM, the forms of a UUID, and the look-up that keeps
// found, absent, unknown and ambiguous apart. Everything in it is plain data: it performs no I/O, and what
// it returns never changes, so that readers need no lock.
//
// # Which VM is a Node's
//
// A BIOS UUID is not unique: clones, backups, replicas and the two ends of a move share one. The home of a
// Node is the managed object in which its VM was last found. Find answers according to this table, and
// findByUUID walks it from top to bottom. The other matches are VMs with the Node's UUID that are not the home.
//
//	home                      other matches            result
//	1  shown, on              none, or off             home
//	2                         one or more may run      ambiguous
//	3  shown, off             none                     home; shut down if its vCenter can be read
//	4                         off                      home; not shut down, since the Node may run as any
//	                                                   of them
//	5                         one may run              that VM if it runs, every vCenter can be read, and it
//	                                                   is the same VM or the Node has outlived its home;
//	                                                   else unknown
//	6                         several may run          ambiguous
//	7  shown, perhaps on      none, or off             home as last read, or unknown if its configuration
//	                                                   cannot be read; callers check the age
//	8                         one or more may run      unknown
//	9  not shown, not known   any                      unknown; its vCenter is asked
//	   to be gone
//	10 gone                   none                     absent, if nothing is uncertain
//	11                        off                      unknown
//	12                        one may run              that VM if it runs, every vCenter can be read, and it
//	                                                   is the same VM; else unknown
//	13                        several may run          ambiguous
//	14 no longer configured   none, or off             unknown
//	15                        one may run              that VM if it runs, every vCenter can be read, and it
//	                                                   is the same VM or no other vCenter has the entry's name;
//	                                                   else unknown
//	16                        several may run          ambiguous
//	17 no home                none                     absent, if nothing is uncertain
//	18                        off                      unknown
//	19                        one runs                 that VM, once each vCenter was read, has failed or is
//	                                                   overdue
//	20                        one may run              that VM, if nothing is uncertain
//	21                        several, and one runs    ambiguous
//	22                        several may run          ambiguous, if nothing is uncertain
//
// The home is perhaps on if its power state or its configuration cannot be read, or is not read yet, or if its
// vCenter cannot be read now. A VM may run unless it is off. A VM that was off when its host was disconnected
// is off in rows 1 to 18, and may run in rows 19 to 22, in which another match may run.
//
// PowerOf asks the same table whether the Node is shut down, which only row 3 affirms. Exists asks whether any VM
// may be the Node's, which only rows 10 and 17 deny.
//
// The home of a joining Node is what its kubelet claims. It applies while it may exist: in row 9, and in row 8.
// Otherwise the Node has no home, the claimed VM is one of the matches, and the Node gets another VM only while
// every vCenter can be read, and only if that VM runs.
//
// A VM that is off is therefore never given to a joining Node, and becomes no Node's home. Another managed
// object is the same VM if it has the instance UUID of the home (config.instanceUuid, by which a vCenter
// tells VMs with one BIOS UUID apart, and which a move keeps), or if it reports an address that the Node
// has. A Node has outlived its home if it stayed ready for longer than a kubelet can be silent while its
// home was off.
//
// A vCenter is its configured address: see samevcenter.go. While two addresses report one instance UUID of a
// vCenter, the VMs of both are given to no Node without a home (rows 19, 20 and 22).
package inventory
