package topology

import "errors"

// ErrNotPermitted says that the account may not read the tags of an object: it lacks the privilege System.Read there.
var ErrNotPermitted = errors.New("the account lacks the privilege System.Read on it")
