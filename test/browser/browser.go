// Package browser drives a headless Chromium through its own protocol, over pipes, for tests of pages
// that allow no script but their own.
package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A Browser is a process with one page.
type Browser struct {
	cmd     *exec.Cmd
	to      io.WriteCloser
	session string
	ended   chan struct{}

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	events  []Event
}

// An Event is something that the browser has reported.
type Event struct {
	Method string
	Params json.RawMessage
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a browser, with its profile in a folder that has to be empty. Close has to be called.
func Start(ctx context.Context, program, profile string) (*Browser, error) {
	fromUs, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, toUs, err := os.Pipe()
	if err != nil {
		_, _ = fromUs.Close(), to.Close()
		return nil, err
	}
	cmd := command(ctx, program, profile)
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // it has them as 3 and 4
	err = cmd.Start()
	_, _ = fromUs.Close(), toUs.Close()
	if err != nil {
		_, _ = from.Close(), to.Close()
		return nil, err
	}
	b := &Browser{cmd: cmd, to: to, ended: make(chan struct{}), waiting: map[int]chan message{}}
	go b.receive(from)
	if err := b.attach(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// attach opens a page and follows what it reports.
func (b *Browser) attach(ctx context.Context) error {
	var target struct {
		TargetID string `json:"targetId"`
	}
	if err := b.Call(ctx, "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	if err := b.Call(ctx, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := b.Call(ctx, domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// receive takes what the browser sends until it ends. It closes ended.
func (b *Browser) receive(from io.ReadCloser) {
	defer close(b.ended)
	defer from.Close()
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &m) != nil {
			return
		}
		b.mu.Lock()
		if done := b.waiting[m.ID]; done != nil {
			done <- m // it has room for this one
			delete(b.waiting, m.ID)
		} else if m.ID == 0 {
			b.events = append(b.events, Event{m.Method, m.Params})
		}
		b.mu.Unlock()
	}
}

// Call calls a method of the protocol. Result may be nil.
func (b *Browser) Call(ctx context.Context, method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	done := make(chan message, 1)
	b.mu.Lock()
	b.last++
	m := message{ID: b.last, Method: method, Params: raw, SessionID: b.session}
	b.waiting[m.ID] = done
	data, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(data, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m = <-done:
	case <-b.ended:
		return fmt.Errorf("%s: the browser has ended", method)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
	if m.Error != nil {
		return fmt.Errorf("%s: %s", method, m.Error.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// Eval returns the value of an expression, which may be a promise. Result may be nil.
func (b *Browser) Eval(ctx context.Context, expression string, result any) error {
	var out struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}
	if err := b.Call(ctx, "Runtime.evaluate", params, &out); err != nil {
		return err
	}
	if e := out.Exception; e != nil {
		return fmt.Errorf("%s %s", e.Text, e.Exception.Description)
	}
	if result == nil {
		return nil
	}
	if out.Result.Value == nil {
		return errors.New("the expression has no value")
	}
	return json.Unmarshal(out.Result.Value, result)
}

// Await waits until an expression is true.
func (b *Browser) Await(ctx context.Context, expression string) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		var is bool
		if err := b.Eval(ctx, "!!("+expression+")", &is); err != nil || is {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%s is not true: %w", expression, ctx.Err())
		}
	}
}

// Key presses a key, by its name in KeyboardEvent.key and its old number.
func (b *Browser) Key(ctx context.Context, key string, code int, text string) error {
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if kind == "keyDown" && text != "" {
			params["text"] = text
		}
		if err := b.Call(ctx, "Input.dispatchKeyEvent", params, nil); err != nil {
			return err
		}
	}
	return nil
}

// Screenshot returns a picture of the whole page as PNG.
func (b *Browser) Screenshot(ctx context.Context) ([]byte, error) {
	var shot struct {
		Data string `json:"data"`
	}
	if err := b.Call(ctx, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(shot.Data)
}

// Events returns what was reported since it was last called.
func (b *Browser) Events() []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

// Close ends the browser.
func (b *Browser) Close() {
	_ = b.to.Close()
	end(b.cmd)
	<-b.ended
}
