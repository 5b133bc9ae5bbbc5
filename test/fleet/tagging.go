package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// tagging are the deviations of the tagging service, which is separate from the SOAP service.
type tagging struct {
	// mode is empty while the service works normally.
	mode taggingMode
	// absent are the API roots that return 404: "/api" or "/rest".
	absent map[string]bool
	// noAPISession is the status of logins below /api, 0 if they succeed.
	noAPISession int
	// deleted maps objects that the service treats as deleted to its response to a batch that
	// contains them.
	deleted map[types.ManagedObjectReference]Deleted
	// hidden maps categories that the account may not read to the status of reading one of their
	// tags by its ID.
	hidden map[string]int
}

type taggingMode string

const (
	taggingHangs     taggingMode = "hang"
	taggingThrottles taggingMode = "throttle"
	taggingStarts    taggingMode = "starting"
)

// Deleted is the response of the tagging service to a batch with a deleted object, which differs
// between vCenters.
type Deleted string

// Responses to a batch with a deleted object.
const (
	DeletedLeftOut   Deleted = "left-out"
	DeletedNotFound  Deleted = "not-found"
	DeletedForbidden Deleted = "forbidden"
	DeletedInvalid   Deleted = "invalid"
	DeletedBreaks    Deleted = "breaks"
)

// status returns the status of a batch with the object, 0 if the remaining objects are returned.
func (d Deleted) status() int {
	return map[Deleted]int{
		DeletedNotFound: http.StatusNotFound, DeletedForbidden: http.StatusForbidden,
		DeletedInvalid: http.StatusBadRequest, DeletedBreaks: http.StatusInternalServerError,
	}[d]
}

func (v *VCenter) setTagging(mode taggingMode) {
	v.taggingRequests.Store(0)
	v.set(func(c *conditions) { c.mode = mode })
}

// HangTagging makes the tagging service, including its sessions, accept requests without
// responding, while SOAP works.
func (v *VCenter) HangTagging() { v.setTagging(taggingHangs) }

// ThrottleTagging makes the tagging service alternate between 429 with Retry-After and 503 with an
// HTML page.
func (v *VCenter) ThrottleTagging() { v.setTagging(taggingThrottles) }

// StartTagging makes the tagging service return 503, as during its start.
func (v *VCenter) StartTagging() { v.setTagging(taggingStarts) }

// RecoverTagging undoes HangTagging, ThrottleTagging and StartTagging.
func (v *VCenter) RecoverTagging() { v.setTagging("") }

// ServeAPI sets whether sessions and tagging exist below /api, as in vCenter 7.0 U2 and later.
func (v *VCenter) ServeAPI(enabled bool) { v.setRoot("/api", enabled) }

// RejectAPISessions makes each login below /api fail with an HTTP status, as in a vCenter with
// another service there; 0 undoes that.
func (v *VCenter) RejectAPISessions(status int) {
	v.set(func(c *conditions) { c.noAPISession = status })
}

// ServeREST sets whether sessions and tagging exist below /rest, which is deprecated.
func (v *VCenter) ServeREST(enabled bool) { v.setRoot("/rest", enabled) }

func (v *VCenter) setRoot(root string, enabled bool) {
	v.set(func(c *conditions) { c.absent = withEntry(c.absent, root, !enabled) })
}

// DenyRead removes the account's System.Read privilege on a single object. System.View remains:
// name and parent stay visible, tags do not. A VM loses all other properties too, and searches do
// not find it.
func (v *VCenter) DenyRead(object string) error { return v.setRead(object, false) }

// AllowRead undoes DenyRead.
func (v *VCenter) AllowRead(object string) error { return v.setRead(object, true) }

func (v *VCenter) setRead(object string, allowed bool) error {
	ref, err := v.Reference(object)
	if err == nil {
		v.set(func(c *conditions) { c.noRead = withEntry(c.noRead, ref, !allowed) })
		v.notifyReadable(ref)
	}
	return err
}

// ForgetObject makes the tagging service treat an object as deleted while SOAP still lists it, as
// for a moment after a deletion; "" undoes that.
func (v *VCenter) ForgetObject(object string, how Deleted) error {
	ref, err := v.Reference(object)
	if err != nil {
		return err
	}
	if !slices.Contains([]Deleted{"", DeletedLeftOut, DeletedNotFound, DeletedForbidden, DeletedInvalid, DeletedBreaks}, how) {
		return fmt.Errorf("fleet: %q is not an answer to a deleted object", how)
	}
	v.set(func(c *conditions) { c.deleted = withEntry(c.deleted, ref, how) })
	return nil
}

// HideCategory removes the account's permission to read a category and its tags: lists omit them,
// and reading a tag by its ID returns status, 403 or 404.
func (v *VCenter) HideCategory(category string, status int) {
	v.set(func(c *conditions) { c.hidden = withEntry(c.hidden, category, status) })
}

// ShowCategory undoes HideCategory.
func (v *VCenter) ShowCategory(category string) { v.HideCategory(category, 0) }

// taggingFault returns the failed response to a request for the tagging service, nil if the request
// is allowed. api reports whether it was sent to /api.
func (v *VCenter) taggingFault(r *http.Request, api bool, body []byte) *response {
	c := v.currentConditions()
	root := ""
	switch {
	case api, strings.HasPrefix(r.URL.Path, "/api/"):
		root = "/api"
	case strings.HasPrefix(r.URL.Path, "/rest/"):
		root = "/rest"
	}
	if c.absent[root] {
		return noSuchPath(root)
	}
	if api && r.Method == http.MethodPost && r.URL.Path == restSessionPath && c.noAPISession != 0 {
		return restError(c.noAPISession)
	}
	if !strings.HasPrefix(r.URL.Path, restCISPath) {
		return nil
	}
	asked := v.taggingRequests.Add(1)
	switch {
	case c.mode == taggingThrottles && asked%2 == 1:
		res := restError(http.StatusTooManyRequests)
		res.header.Set("Retry-After", "1")
		return res
	case c.mode == taggingThrottles:
		return page(http.StatusServiceUnavailable)
	case c.mode == taggingStarts:
		return restError(http.StatusServiceUnavailable)
	}
	if status := c.tagStatus(r, body); status != 0 {
		return restError(status)
	}
	return nil
}

// tagStatus returns the status of a request about unreadable or deleted objects, 0 if it has none.
func (c *conditions) tagStatus(r *http.Request, body []byte) int {
	if !strings.HasPrefix(r.URL.Query().Get("~action"), "list-attached-tags") {
		return 0
	}
	status := 0
	for _, ref := range requestedObjects(body) {
		if c.noRead[ref] {
			return http.StatusForbidden
		}
		status = cmp.Or(c.deleted[ref].status(), status)
	}
	return status
}

// rejectUnknown returns 403 for the tags of an object that does not exist or is invisible to the
// account: vCenter does not distinguish this from a missing privilege.
func (v *VCenter) rejectUnknown(r *http.Request, body []byte, res *response) *response {
	if res.status != http.StatusOK || !strings.HasPrefix(r.URL.Query().Get("~action"), "list-attached-tags") {
		return res
	}
	for _, ref := range requestedObjects(body) {
		if v.registry().Get(ref) == nil {
			return restError(http.StatusForbidden)
		}
	}
	return res
}

func requestedObjects(body []byte) (all []types.ManagedObjectReference) {
	var asked struct {
		Object  taggedObject   `json:"object_id"`
		Objects []taggedObject `json:"object_ids"`
	}
	if json.Unmarshal(body, &asked) != nil {
		return nil
	}
	if asked.Object != (taggedObject{}) {
		all = append(all, asked.Object.reference())
	}
	for _, o := range asked.Objects {
		all = append(all, o.reference())
	}
	return all
}

type taggedObject struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

func (o taggedObject) reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: o.Type, Value: o.ID}
}

// hideTags removes the categories, tags and objects that the account may not read from a response.
func (v *VCenter) hideTags(r *http.Request, res *response) *response {
	categories, tags, deleted := v.hiddenTags()
	if res.status != http.StatusOK || len(categories)+len(tags)+len(deleted) == 0 || !strings.HasPrefix(r.URL.Path, restTagging) {
		return res
	}
	if _, id, ok := strings.Cut(r.URL.Path, "/id:"); ok {
		if status := max(categories[id], tags[id]); status != 0 {
			return restError(status)
		}
		return res
	}
	if r.URL.Query().Get("~action") == "list-attached-tags-on-objects" {
		var entries []objectTags
		if decodeValue(res, &entries) != nil {
			return res
		}
		entries = slices.DeleteFunc(entries, func(a objectTags) bool { return deleted[a.Object.reference()] })
		for i := range entries {
			entries[i].Tags = slices.DeleteFunc(entries[i].Tags, func(id string) bool { return tags[id] != 0 })
		}
		return restValue(res, entries)
	}
	var ids []string
	if decodeValue(res, &ids) != nil {
		return res
	}
	return restValue(res, slices.DeleteFunc(ids, func(id string) bool { return categories[id]+tags[id] != 0 }))
}

type objectTags struct {
	Object taggedObject `json:"object_id"`
	Tags   []string     `json:"tag_ids"`
}

// hiddenTags returns the hidden categories and tags by ID with the status of reading them, and the
// objects to omit.
func (v *VCenter) hiddenTags() (categories, tags map[string]int, deleted map[types.ManagedObjectReference]bool) {
	c := v.currentConditions()
	v.tags.mu.Lock()
	defer v.tags.mu.Unlock()
	categories = map[string]int{}
	tags = map[string]int{}
	deleted = map[types.ManagedObjectReference]bool{}
	for name, status := range c.hidden {
		categories[v.tags.categories[name]] = status
	}
	for key, id := range v.tags.tags {
		if status, ok := c.hidden[key[0]]; ok {
			tags[id] = status
		}
	}
	for ref, how := range c.deleted {
		deleted[ref] = how == DeletedLeftOut
	}
	return categories, tags, deleted
}

func restValue(res *response, value any) *response {
	body, _ := json.Marshal(map[string]any{"value": value})
	return &response{res.status, res.header, body}
}

func restError(status int) *response {
	return &response{status, http.Header{"Content-Type": {"application/json"}},
		[]byte(`{"type":"com.vmware.vapi.std.errors.` + strings.ToLower(errorType(status)) + `","value":{"messages":[]}}`)}
}

// noSuchPath returns vAPI's response for an unknown path.
func noSuchPath(root string) *response {
	id := "httpNotFound"
	if root == "/rest" {
		id = "operationsForUrlNotFound"
	}
	res := restError(http.StatusNotFound)
	res.body = []byte(`{"type":"com.vmware.vapi.std.errors.not_found","value":{"messages":[{"args":[],"id":"com.vmware.vapi.rest.` + id + `"}]}}`)
	return res
}

func page(status int) *response {
	return &response{status, http.Header{"Content-Type": {"text/html"}},
		fmt.Appendf(nil, "<html><head><title>%d %s</title></head>\n<body>no healthy upstream</body></html>\n", status, http.StatusText(status))}
}
