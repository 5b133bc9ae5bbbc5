package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	vim "github.com/vmware/govmomi/session"

	"vzones/config"
	"vzones/vcenter/credentials"
)

// maxTicket limits a session manager's answer in bytes.
const maxTicket = 64 << 10

func (s *Session) openClone(ctx context.Context) error {
	m := sessionManager{url: s.creds.SessionManagerURL, token: s.creds.SessionManagerToken}
	var ticket config.Password
	err := s.endpoint.exchangeCredentials(ctx, "session manager: get ticket", func(ctx context.Context) (err error) {
		ticket, err = m.ticket(ctx, s.trust, s.endpoint.timeout)
		return err
	})
	var status statusError
	if errors.As(err, &status) && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		return managerRejection(status)
	}
	if err != nil {
		return err
	}
	if err := vim.NewManager(s.vim).CloneSession(ctx, ticket.Reveal()); err != nil {
		return fmt.Errorf("cloning the session: %w", asRejection(err, ticketRejected))
	}
	return nil
}

type sessionManager struct {
	url   string
	token config.Password
}

// ticket requests a ticket for one login. Its errors contain no secret.
func (m sessionManager) ticket(ctx context.Context, tr *trust, timeout time.Duration) (config.Password, error) {
	none := config.Password{}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url, nil)
	if err != nil {
		return none, errors.New("the session manager's address is not a valid URL")
	}
	if err := credentials.CheckURL(m.url); err != nil {
		return none, fmt.Errorf("the session manager's address %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+m.token.Reveal())
	req.Header.Set("User-Agent", userAgent)
	t := &http.Transport{DisableKeepAlives: true}
	res, err := (&http.Client{Transport: prepare(t, tr.managerTLSConfig(req.URL.Hostname()), timeout)}).Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return none, withoutRequest(err)
	}
	defer res.Body.Close()
	return readTicket(res)
}

type statusError int

func (u statusError) Error() string {
	return fmt.Sprintf("the session manager answers %d %s", int(u), http.StatusText(int(u)))
}

func managerRejection(status statusError) error {
	return rejection(fmt.Sprintf("the session manager rejects the token (%d %s): check that it was issued for this daemon", int(status), http.StatusText(int(status))))
}

func readTicket(res *http.Response) (config.Password, error) {
	none := config.Password{}
	if res.StatusCode != http.StatusOK {
		return none, statusError(res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxTicket))
	if err != nil {
		return none, fmt.Errorf("reading the session manager's answer: %w", err)
	}
	var answer struct {
		Token string `json:"token"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Token == "" {
		return none, errors.New(`the session manager's answer is not a JSON object whose "token" is a session ticket`)
	}
	return config.NewPassword(answer.Token), nil
}
