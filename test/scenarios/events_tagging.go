package scenarios

import (
	"net/http"

	"vzones/test/fleet"
)

// taggingCommands make something happen to the tagging service of a vCenter, which
// is one of its own beside SOAP.
func taggingCommands() []command {
	return []command{
		{"vcenter VCENTER tagging hang", "lets the tagging service answer nothing while SOAP answers", vcenterFault((*fleet.VCenter).HangTagging)},
		{"vcenter VCENTER tagging throttle", "lets it answer 429 with `Retry-After` and 503 with an HTML page by turns", vcenterFault((*fleet.VCenter).ThrottleTagging)},
		{"vcenter VCENTER tagging starting", "lets it answer 503, as it does while it is starting", vcenterFault((*fleet.VCenter).StartTagging)},
		{"vcenter VCENTER tagging recover", "undoes these three", func(a *arguments) action {
			return onVCenters(a.vcenters(), func(w *world, v *fleet.VCenter) error {
				delete(w.sick, v.Name())
				v.RecoverTagging()
				return nil
			})
		}},
		{"vcenter VCENTER without-api", "lets all below `/api` answer 404, as vCenters before 7.0 do", taggingChange(func(v *fleet.VCenter) { v.ServeAPI(false) })},
		{"vcenter VCENTER with-api", "undoes that", taggingChange(func(v *fleet.VCenter) { v.ServeAPI(true) })},
		{"vcenter VCENTER without-rest", "lets all below `/rest` answer 404, which is deprecated since 7.0 U2", taggingChange(func(v *fleet.VCenter) { v.ServeREST(false) })},
		{"vcenter VCENTER with-rest", "undoes that", taggingChange(func(v *fleet.VCenter) { v.ServeREST(true) })},
		{"vcenter VCENTER no-read OBJECT", "takes the account's System.Read on that object alone; System.View stays, so its name can be read and its tags cannot, and a batch with it is 403; of a machine nothing else can be read either, and searches do not find it", onObject(1, func(v *fleet.VCenter, w []string) error { return v.DenyRead(w[0]) })},
		{"vcenter VCENTER read OBJECT", "gives it back", onObject(1, func(v *fleet.VCenter, w []string) error { return v.AllowRead(w[0]) })},
		{"vcenter VCENTER hide-category CATEGORY STATUS", "takes the account's right to read a tag category and its tags: lists leave them out, and reading one by its ID has that STATUS, 403 or 404", hideCategory},
		{"vcenter VCENTER show-category CATEGORY", "gives it back", func(a *arguments) action {
			names, category := a.vcenters(), a.word("CATEGORY")
			return onVCenters(names, func(_ *world, v *fleet.VCenter) error { v.ShowCategory(category); return nil })
		}},
		{"vcenter VCENTER tags-forget OBJECT ANSWER", "lets the tagging service take an object for deleted that SOAP still shows; a batch with it is then `not-found` (404), `forbidden` (403), `invalid` (400), `breaks` (500), or has it `left-out`", onObject(2, func(v *fleet.VCenter, w []string) error { return v.ForgetObject(w[0], fleet.Deleted(w[1])) })},
		{"vcenter VCENTER tags-know OBJECT", "undoes that", onObject(1, func(v *fleet.VCenter, w []string) error { return v.ForgetObject(w[0], "") })},
	}
}

func taggingChange(do func(*fleet.VCenter)) func(*arguments) action {
	return func(a *arguments) action {
		return onVCenters(a.vcenters(), func(_ *world, v *fleet.VCenter) error { do(v); return nil })
	}
}

func hideCategory(a *arguments) action {
	names, category, status := a.vcenters(), a.word("CATEGORY"), a.number("STATUS")
	if status != http.StatusForbidden && status != http.StatusNotFound {
		a.fail("a STATUS is 403 or 404, not %d", status)
	}
	return onVCenters(names, func(_ *world, v *fleet.VCenter) error { v.HideCategory(category, status); return nil })
}
