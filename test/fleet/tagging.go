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

// tagging is what is different about the tagging service, which is one of its own
// beside the one that answers SOAP.
type tagging struct {
	// mode is empty while the service works.
	mode taggingMode
	// absent are the roots that answer 404: "/api" or "/rest".
	absent map[string]bool
	// noAPISession is how a login below /api is answered, 0 if it opens a session.
	noAPISession int
	// deleted are the objects that the service takes for deleted, and how it
	// answers a batch that has one.
	deleted map[types.ManagedObjectReference]Deleted
	// hidden are the names of the categories that the account may not read, and
	// the status that reading one of their tags by its ID has.
	hidden map[string]int
}

type taggingMode string

const (
	taggingHangs     taggingMode = "hang"
	taggingThrottles taggingMode = "throttle"
	taggingStarts    taggingMode = "starting"
)

// Deleted is how the tagging service answers a batch with an object that was
// deleted: vCenters differ.
type Deleted string

// What a vCenter may do with a deleted object in a batch.
const (
	DeletedLeftOut   Deleted = "left-out"
	DeletedNotFound  Deleted = "not-found"
	DeletedForbidden Deleted = "forbidden"
	DeletedInvalid   Deleted = "invalid"
	DeletedBreaks    Deleted = "breaks"
)

// status is what a batch with the object is answered with, 0 if the others' tags are.
func (d Deleted) status() int {
	return map[Deleted]int{
		DeletedNotFound: http.StatusNotFound, DeletedForbidden: http.StatusForbidden,
		DeletedInvalid: http.StatusBadRequest, DeletedBreaks: http.StatusInternalServerError,
	}[d]
}

func (v *VCenter) setTagging(mode taggingMode) {
	v.asked.Store(0)
	v.set(func(c *conditions) { c.mode = mode })
}

// HangTagging makes the tagging service, its sessions included, accept requests and
// answer none, while SOAP answers.
func (v *VCenter) HangTagging() { v.setTagging(taggingHangs) }

// ThrottleTagging makes it answer 429 with Retry-After and 503 with an HTML page by
// turns.
func (v *VCenter) ThrottleTagging() { v.setTagging(taggingThrottles) }

// StartTagging makes it answer 503 as it does while it is starting.
func (v *VCenter) StartTagging() { v.setTagging(taggingStarts) }

// RecoverTagging undoes these three.
func (v *VCenter) RecoverTagging() { v.setTagging("") }

// ServeAPI reports whether sessions and tags are served below /api, as vCenters from
// 7.0 U2 do.
func (v *VCenter) ServeAPI(on bool) { v.serve("/api", on) }

// RefuseAPISessions has each login below /api answered with an HTTP status, as by a vCenter that has
// another service there; 0 undoes that.
func (v *VCenter) RefuseAPISessions(status int) {
	v.set(func(c *conditions) { c.noAPISession = status })
}

// ServeREST reports whether they are served below /rest, which is deprecated.
func (v *VCenter) ServeREST(on bool) { v.serve("/rest", on) }

func (v *VCenter) serve(root string, on bool) {
	v.set(func(c *conditions) { c.absent = with(c.absent, root, !on) })
}

// DenyRead takes System.Read on an object, and on nothing below it, from the
// account, which keeps System.View: its name and its parent stay visible, its tags do
// not. Of a machine no other property is readable either, and searches do not find it.
func (v *VCenter) DenyRead(object string) error { return v.setRead(object, false) }

// AllowRead gives it back.
func (v *VCenter) AllowRead(object string) error { return v.setRead(object, true) }

func (v *VCenter) setRead(object string, allowed bool) error {
	ref, err := v.Reference(object)
	if err == nil {
		v.set(func(c *conditions) { c.noRead = with(c.noRead, ref, !allowed) })
		v.notifyReadable(ref)
	}
	return err
}

// ForgetObject lets the tagging service take an object for deleted that SOAP still
// shows, as it is for a moment after a deletion; "" undoes that.
func (v *VCenter) ForgetObject(object string, how Deleted) error {
	ref, err := v.Reference(object)
	if err != nil {
		return err
	}
	if !slices.Contains([]Deleted{"", DeletedLeftOut, DeletedNotFound, DeletedForbidden, DeletedInvalid, DeletedBreaks}, how) {
		return fmt.Errorf("fleet: %q is not an answer to a deleted object", how)
	}
	v.set(func(c *conditions) { c.deleted = with(c.deleted, ref, how) })
	return nil
}

// HideCategory takes the account's right to read a category and its tags: every list
// reportLeft them out, and reading one by its ID has this status, 403 or 404.
func (v *VCenter) HideCategory(category string, status int) {
	v.set(func(c *conditions) { c.hidden = with(c.hidden, category, status) })
}

// ShowCategory gives it back.
func (v *VCenter) ShowCategory(category string) { v.HideCategory(category, 0) }

// taggingFault answers a request to the tagging service if that does not work or may not
// answer it; api reports whether it came to /api.
func (v *VCenter) taggingFault(r *http.Request, api bool, body []byte) *response {
	c := v.now()
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
	asked := v.asked.Add(1)
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
	if status := c.refusesTags(r, body); status != 0 {
		return restError(status)
	}
	return nil
}

// refusesTags returns the status of a request about objects that the account may not read or
// that are deleted, 0 if there are none.
func (c *conditions) refusesTags(r *http.Request, body []byte) int {
	if !strings.HasPrefix(r.URL.Query().Get("~action"), "list-attached-tags") {
		return 0
	}
	status := 0
	for _, ref := range askedFor(body) {
		if c.noRead[ref] {
			return http.StatusForbidden
		}
		status = cmp.Or(c.deleted[ref].status(), status)
	}
	return status
}

// refuseUnknown answers a request for the tags of an object that does not exist, or that the account may not see, with
// 403: a real vCenter has no other answer for it than for a missing privilege.
func (v *VCenter) refuseUnknown(r *http.Request, body []byte, res *response) *response {
	if res.status != http.StatusOK || !strings.HasPrefix(r.URL.Query().Get("~action"), "list-attached-tags") {
		return res
	}
	for _, ref := range askedFor(body) {
		if v.registry().Get(ref) == nil {
			return restError(http.StatusForbidden)
		}
	}
	return res
}

// askedFor returns the objects whose tags a request asks for.
func askedFor(body []byte) (all []types.ManagedObjectReference) {
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

// hideTags leaves out of an answer what the account may not read.
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
		var all []objectTags
		if decodeValue(res, &all) != nil {
			return res
		}
		all = slices.DeleteFunc(all, func(a objectTags) bool { return deleted[a.Object.reference()] })
		for i := range all {
			all[i].Tags = slices.DeleteFunc(all[i].Tags, func(id string) bool { return tags[id] != 0 })
		}
		return restValue(res, all)
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

// hiddenTags returns the IDs of the hidden categories and of their tags with the status
// that they have, and the objects that are left out.
func (v *VCenter) hiddenTags() (categories, tags map[string]int, deleted map[types.ManagedObjectReference]bool) {
	c := v.now()
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

// noSuchPath is vAPI's answer where it serves nothing.
func noSuchPath(root string) *response {
	id := "httpNotFound"
	if root == "/rest" {
		id = "operationsForUrlNotFound"
	}
	res := restError(http.StatusNotFound)
	res.body = []byte(`{"type":"com.vmware.vapi.std.errors.not_found","value":{"messages":[{"args":[],"id":"com.vmware.vapi.rest.` + id + `"}]}}`)
	return res
}

// page is the answer of a proxy in front of the service.
func page(status int) *response {
	return &response{status, http.Header{"Content-Type": {"text/html"}},
		fmt.Appendf(nil, "<html><head><title>%d %s</title></head>\n<body>no healthy upstream</body></html>\n", status, http.StatusText(status))}
}
