package tags

import (
	"context"
	"fmt"
	"net/http"

	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
)

// A Caller makes a remote call with limits and metrics. name is from a closed set.
type Caller func(ctx context.Context, name string, call func(context.Context) error) error

// A Client is the Service of a session.
type Client struct {
	rest   *rest.Client
	caller Caller
}

// NewClient returns the Service of a session.
func NewClient(session *rest.Client, caller Caller) Client { return Client{session, caller} }

var _ Service = Client{}

func (c Client) call(ctx context.Context, name string, r *rest.Request, answer any, check func() error) error {
	return c.caller(ctx, name, func(ctx context.Context) error {
		if err := c.rest.Do(ctx, r, answer); err != nil || check == nil {
			return err
		}
		return check()
	})
}

// Attached implements Service.
func (c Client) Attached(ctx context.Context, objects []Ref) (map[Ref][]string, error) {
	var body struct {
		Objects []objectID `json:"object_ids"`
	}
	for _, ref := range objects {
		body.Objects = append(body.Objects, objectID{ID: ref.Value, Type: ref.Type})
	}
	var answer []struct {
		Object objectID `json:"object_id"`
		Tags   []string `json:"tag_ids"`
	}
	// Null does not mean that the objects have no tags.
	r := rest.Request{Method: http.MethodPost, Resource: "tagging/tag-association", Action: "list-attached-tags-on-objects", Body: body, NotNull: true}
	if err := c.call(ctx, "tagging: list attached tags", &r, &answer, nil); err != nil {
		return nil, err
	}
	attached := make(map[Ref][]string, len(answer))
	known := map[string]string{} // This shares the strings of equal IDs.
	for _, a := range answer {
		for i, id := range a.Tags {
			if err := faults.CheckTag(id, ""); err != nil {
				return nil, err
			}
			if _, ok := known[id]; !ok {
				known[id] = id
			}
			a.Tags[i] = known[id]
		}
		attached[Ref{Type: a.Object.Type, Value: a.Object.ID}] = a.Tags
	}
	return attached, nil
}

type objectID struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// Tag implements Service.
func (c Client) Tag(ctx context.Context, id string) (t Tag, err error) {
	r := rest.Request{Method: http.MethodGet, Resource: "tagging/tag", ID: id}
	err = c.call(ctx, "tagging: get tag", &r, &t, func() error {
		if t.Name == "" || t.Category == "" {
			return fmt.Errorf("tag %s has no name or no category", id)
		}
		return faults.CheckTag(t.Category, t.Name)
	})
	return t, err
}

// Category implements Service.
func (c Client) Category(ctx context.Context, id string) (category Category, err error) {
	r := rest.Request{Method: http.MethodGet, Resource: "tagging/category", ID: id}
	err = c.call(ctx, "tagging: get category", &r, &category, func() error {
		if category.Name == "" {
			return fmt.Errorf("tag category %s has no name", id)
		}
		return faults.CheckTag(id, category.Name)
	})
	return category, err
}

// Categories implements Service.
func (c Client) Categories(ctx context.Context) (ids []string, err error) {
	r := rest.Request{Method: http.MethodGet, Resource: "tagging/category"}
	err = c.call(ctx, "tagging: list categories", &r, &ids, func() error {
		if len(ids) > faults.MaxTags {
			return faults.ManyTags
		}
		for _, id := range ids {
			if err := faults.CheckTag(id, ""); err != nil {
				return err
			}
		}
		return nil
	})
	return ids, err
}
