package main

import (
	"bufio"
	"context"
	"io"
)

// converse carries out the lines of an input, until one of them ends the demo, the context is
// done, or what it shows has ended. The end of the input is not the end: a terminal may be absent.
func (w *world) converse(ctx context.Context, in io.Reader, ended <-chan struct{}) {
	w.print("Commands, to be typed here; help explains them: %s\n", w.names())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := w.read(ctx, in)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				lines = nil
			} else if w.obey(ctx, line) != nil {
				return
			}
		case <-ctx.Done():
			return
		case <-ended:
			return
		}
	}
}

// read sends the lines of an input, and closes the channel at its end. It may be left in a read:
// nothing interrupts that of a terminal.
func (w *world) read(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
		if err := scanner.Err(); err != nil {
			w.print("the input ends here: %v", err)
		}
	}()
	return lines
}
