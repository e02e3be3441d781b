package kayenta

import (
	"slices"
	"strconv"
	"strings"
)

// This file is a port of how Kayenta scores a canary, commit a69573be9d8fededacf80817e4151a2c8df41276:
// kayenta-judge/src/main/scala/com/netflix/kayenta/judge/scorers/WeightedSumScorer.scala and ScoringHelper.scala.

// judged is a classified metric.
type judged struct {
	classification
	groups []string
}

// nodataPercentMax is the share of metrics without data at which the score is 0.
const nodataPercentMax = 50

// score returns the score of a canary, from 0 to 100, without the muted metrics.
func score(metrics []judged, weights map[string]float64) float64 {
	nodata := 0
	for _, metric := range metrics {
		if metric.critical && metric.label != Pass {
			return 0
		}
		if metric.label == Nodata {
			nodata++
		}
	}
	if 100*float64(nodata) >= nodataPercentMax*float64(len(metrics)) {
		return 0 // Also if all metrics are muted: Kayenta's share is then NaN, and its sum over no groups is 0.
	}
	names := groupsOf(metrics)
	weightOfOthers := weightWithout(names, weights)
	sum := 0.0
	for _, name := range names {
		weight, ok := weights[name]
		if !ok {
			weight = weightOfOthers
		}
		sum += groupScore(metrics, name) * (weight / 100)
	}
	return roundHalfUp(sum)
}

func groupsOf(metrics []judged) []string {
	names := []string{}
	for _, metric := range metrics {
		names = append(names, metric.groups...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// weightWithout returns the weight of a group that has none: these groups share what is left of 100.
func weightWithout(names []string, weights map[string]float64) float64 {
	left, count := 100.0, 0
	for _, weight := range weights {
		left -= weight
	}
	for _, name := range names {
		if _, ok := weights[name]; !ok {
			count++
		}
	}
	if count == 0 {
		return 0
	}
	return left / float64(count)
}

// groupScore returns the percentage of the group's metrics that pass. Metrics without data or
// with an error do not count.
func groupScore(metrics []judged, name string) float64 {
	pass, total := 0, 0
	for _, metric := range metrics {
		for _, group := range metric.groups {
			if group != name || metric.label == Nodata || metric.label == Error {
				continue
			}
			total++
			if metric.label == Pass {
				pass++
			}
		}
	}
	if total == 0 {
		return 100
	}
	return float64(pass) / float64(total) * 100
}

// roundHalfUp rounds the shortest decimal form of a number to two decimal places, as Commons Math does.
func roundHalfUp(value float64) float64 {
	text := strconv.FormatFloat(value, 'f', -1, 64)
	point := strings.IndexByte(text, '.')
	if point < 0 || len(text) <= point+3 {
		return value
	}
	hundredths, err := strconv.Atoi(text[:point] + text[point+1:point+3])
	if err != nil {
		return value // Too large to have decimal places.
	}
	if text[point+3] >= '5' {
		hundredths++
	}
	return float64(hundredths) / 100
}
