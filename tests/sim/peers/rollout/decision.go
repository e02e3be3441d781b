package rollout

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// What a rule did with a rollout.
const (
	Promoted     = "promoted"
	RolledBack   = "rolled_back"
	Inconclusive = "inconclusive" // The rule ended and left the decision to a person.
	Nothing      = "nothing"      // The points ended before the rule did.
)

// Decision is what one rule did with one rollout, and when.
type Decision struct {
	What     string
	Points   int     // Number of points that had ended at the decision.
	Seconds  float64 // Time of the decision since the start of the rollout.
	Requests float64 // The candidate's requests in these points.
	Detail   string  // The result in the peer's own words, such as Failed or Error.
}

// At returns the decision at a time.
func (r *Rollout) At(what string, seconds float64, detail string) Decision {
	points := r.PointsUntil(seconds)
	return Decision{what, points, seconds, r.candidateRequests[points], detail}
}

// Ended returns the decision of a rule that was still running at the last point.
func (r *Rollout) Ended(detail string) Decision { return r.At(Nothing, r.EndSeconds(), detail) }

// AppendJSON appends the decision of the setting as a JSON object. It does not use the encoder of the standard
// library, because a sweep prints thousands of decisions for each rollout.
func (d Decision) AppendJSON(to []byte, quotedSetting []byte) []byte {
	to = append(to, `{"setting":`...)
	to = append(to, quotedSetting...)
	to = append(to, `,"decision":"`...)
	to = append(to, d.What...)
	to = append(to, `","point":`...)
	if d.Points > 0 {
		to = strconv.AppendInt(to, int64(d.Points-1), 10)
	} else {
		to = append(to, "null"...)
	}
	to = append(to, `,"seconds":`...)
	to = strconv.AppendFloat(to, d.Seconds, 'f', -1, 64)
	to = append(to, `,"candidate_requests":`...)
	to = strconv.AppendFloat(to, d.Requests, 'f', -1, 64)
	to = append(to, `,"detail":"`...)
	to = append(to, d.Detail...) // Only words of the peers and numbers, which need no escapes.
	return append(to, `"}`...)
}

// Quote returns the text as a JSON string.
func Quote(text string) []byte {
	quoted := bytes.Buffer{}
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false) // Names of settings contain < and >.
	if err := encoder.Encode(text); err != nil {
		panic(err) // A string can always be written.
	}
	return bytes.TrimSpace(quoted.Bytes())
}
