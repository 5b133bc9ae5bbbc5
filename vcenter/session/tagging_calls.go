package session

import (
	"context"

	"vzones/vcenter/tags"
)

// taggingCalls is the tagging API of a session, each request bounded and observed as
// the others are.
type taggingCalls struct {
	client   *tags.Client
	endpoint *Endpoint
}

var _ tags.Service = taggingCalls{}

func (t taggingCalls) Attached(ctx context.Context, refs []tags.Ref) (attached map[tags.Ref][]string, err error) {
	err = t.endpoint.Do(ctx, "tagging: list attached tags", func(ctx context.Context) (err error) {
		attached, err = t.client.Attached(ctx, refs)
		return err
	})
	return attached, err
}

func (t taggingCalls) Tag(ctx context.Context, id string) (tag tags.Tag, err error) {
	err = t.endpoint.Do(ctx, "tagging: get tag", func(ctx context.Context) (err error) {
		tag, err = t.client.Tag(ctx, id)
		return err
	})
	return tag, err
}

func (t taggingCalls) Category(ctx context.Context, id string) (name string, err error) {
	err = t.endpoint.Do(ctx, "tagging: get category", func(ctx context.Context) (err error) {
		name, err = t.client.Category(ctx, id)
		return err
	})
	return name, err
}

func (t taggingCalls) Categories(ctx context.Context) (ids []string, err error) {
	err = t.endpoint.Do(ctx, "tagging: list categories", func(ctx context.Context) (err error) {
		ids, err = t.client.Categories(ctx)
		return err
	})
	return ids, err
}

func (t taggingCalls) TagsOf(ctx context.Context, category string) (ids []string, err error) {
	err = t.endpoint.Do(ctx, "tagging: list tags of category", func(ctx context.Context) (err error) {
		ids, err = t.client.TagsOf(ctx, category)
		return err
	})
	return ids, err
}

func (t taggingCalls) Objects(ctx context.Context, ids []string) (attached map[string][]tags.Ref, err error) {
	err = t.endpoint.Do(ctx, "tagging: list attached objects", func(ctx context.Context) (err error) {
		attached, err = t.client.Objects(ctx, ids)
		return err
	})
	return attached, err
}
