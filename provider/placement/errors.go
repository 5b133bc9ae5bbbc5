package placement

import "errors"

// ErrShared means that another Node has the machine of a Node. It is in a
// topology.ErrUnknown: nobody can tell which of the two runs on the machine.
var ErrShared = errors.New("two Nodes have one machine")

// errGone means that a Node is gone, or that another one has its name.
var errGone = errors.New("the Node is gone")
