// Package inventory holds what was read of the fleet's vCenters, and finds the VM of a Node in it.
//
// It owns the snapshot of a vCenter, the details of a VM, the forms of a UUID, and the look-up that keeps
// found, absent, unknown and ambiguous apart. Everything in it is plain data: it performs no I/O, and what
// it returns never changes, so that readers need no lock.
//
// # Which VM is a Node's
//
// A BIOS UUID is not unique: clones, backups, replicas and the two ends of a move share one. The home of a
// Node is the managed object in which its VM was last found. Find, PowerOf and Exists answer by this table,
// which findByUUID walks from top to bottom. A match is a VM with the Node's UUID, other than the home.
//
//	home                               matches                result
//	1  shown, on or power unknown      none, or off           home
//	2  shown, on                       one or more that may   ambiguous
//	                                   run
//	3  shown, power unknown            likewise               unknown
//	4  shown, off                      none                   home; shut down if its vCenter can be read
//	5  shown, off                      off                    home; not shut down, since the Node may run as
//	                                                          any of them
//	6  shown, off                      one that runs          that VM if every vCenter can be read, and it is
//	                                                          the same VM or the Node has outlived its home;
//	                                                          else unknown
//	7  shown, off                      several that may run   ambiguous
//	8  shown, not readable             any                    unknown
//	9  in a vCenter that cannot be     none, or off           home as last read; callers check the age
//	   read                            one that may run       unknown
//	10 not shown, not known to be gone any                    unknown; its vCenter is asked
//	11 gone                            one that runs          that VM if every vCenter can be read and it is
//	                                                          the same VM; else unknown
//	12 no longer configured            one that runs          that VM if every vCenter can be read
//	13 gone or no longer configured    several that may run   ambiguous
//	                                   off                    unknown
//	14 gone                            none                   absent, if nothing is uncertain
//	15 no longer configured            none                   unknown
//	16 no home, or the Node joins      one that runs          that VM, once each vCenter was read, has failed
//	                                                          or is overdue
//	17 likewise                        several that may run   ambiguous
//	18 likewise                        one that may run       that VM, if nothing is uncertain
//	19 likewise                        off                    unknown
//	20 likewise                        none                   absent, if nothing is uncertain
//
// A VM that is off is therefore never given to a joining Node, and becomes no Node's home. Another managed
// object is the same VM if it has the instance UUID of the home (config.instanceUuid, by which a vCenter
// tells VMs with one BIOS UUID apart, and which a move keeps), or if it reports an address that the Node
// has. A Node has outlived its home if it stayed ready for longer than a kubelet can be silent while its
// home was off.
//
// A vCenter is its configured address: see samevcenter.go. While two addresses report one instance UUID of a
// vCenter, the VMs of both are given to no Node without a home (rows 16 and 18).
//
// The home of a joining Node is what its kubelet claims. It gives the Node nothing, but the Node gets no
// other VM while it may exist, in a row from 8 to 10, and otherwise only while every vCenter can be read.
package inventory
