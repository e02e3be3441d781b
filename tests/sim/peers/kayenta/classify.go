package kayenta

import (
	"math"
	"math/rand"
	"slices"
)

// This file is a port of how Kayenta classifies a metric, commit a69573be9d8fededacf80817e4151a2c8df41276:
// kayenta-judge/src/main/scala/com/netflix/kayenta/judge/NetflixACAJudge.scala,
// classifiers/metric/MannWhitneyClassifier.scala, preprocessing/Transforms.scala, detectors/IQRDetector.scala and
// stats/EffectSizes.scala.

// Label is the classification of a metric.
type Label string

const (
	Pass             Label = "Pass"
	High             Label = "High"
	Low              Label = "Low"
	Nodata           Label = "Nodata"
	NodataFailMetric Label = "NodataFailMetric"
	// Error is the label after an exception: Kayenta's test mostly cannot compare two single values.
	Error Label = "Error"
)

// Canary is analysisConfigurations.canary of a metric: docs/canary-config.md of Kayenta describes the fields.
type Canary struct {
	Direction    string     `json:"direction"`
	NaNStrategy  string     `json:"nanStrategy"`
	Critical     bool       `json:"critical"`
	Muted        bool       `json:"muted"`
	MustHaveData bool       `json:"mustHaveData"`
	EffectSize   EffectSize `json:"effectSize"`
	Outliers     Outliers   `json:"outliers"`
}

// EffectSize holds how large a difference must be. An absent number means no minimum.
type EffectSize struct {
	Measure          string   `json:"measure"`
	AllowedIncrease  *float64 `json:"allowedIncrease"`
	AllowedDecrease  *float64 `json:"allowedDecrease"`
	CriticalIncrease *float64 `json:"criticalIncrease"`
	CriticalDecrease *float64 `json:"criticalDecrease"`
}

// Outliers holds what happens to outliers.
type Outliers struct {
	Strategy string   `json:"strategy"`
	Factor   *float64 `json:"outlierFactor"`
}

// levels are constants of NetflixACAJudge. Kayenta's own tests use others.
type levels struct{ tolerance, confidence float64 }

var judgeLevels = levels{tolerance: 0.25, confidence: 0.98}

// cleaning is the part of a configuration that changes the samples.
type cleaning struct {
	replaceNaNs    bool
	removeOutliers bool
	factor         float64
}

func (c *Canary) cleaning() cleaning {
	made := cleaning{replaceNaNs: c.NaNStrategy == "replace", removeOutliers: c.Outliers.Strategy == "remove"}
	if made.removeOutliers {
		made.factor = orElse(c.Outliers.Factor, 3)
	}
	return made
}

func orElse(value *float64, otherwise float64) float64 {
	if value == nil {
		return otherwise
	}
	return *value
}

// clean returns the sample without NaNs and outliers, sorted.
func (c cleaning) clean(sample []float64) []float64 {
	kept := make([]float64, 0, len(sample))
	for _, value := range sample {
		if !math.IsNaN(value) {
			kept = append(kept, value)
		} else if c.replaceNaNs {
			kept = append(kept, 0)
		}
	}
	slices.Sort(kept)
	if !c.removeOutliers || len(kept) == 0 {
		return kept
	}
	q1, q3 := percentile(kept, 25), percentile(kept, 75)
	low := min(percentile(kept, 1), q1-c.factor*(q3-q1))
	high := max(percentile(kept, 99), q3+c.factor*(q3-q1))
	return slices.DeleteFunc(kept, func(value float64) bool { return value < low || value > high })
}

// percentile interpolates between the values of a sorted sample: type 7 of R. J. Hyndman, Y. Fan, Sample Quantiles in
// Statistical Packages, The American Statistician 50 (1996).
func percentile(sorted []float64, percent float64) float64 {
	at := percent / 100 * float64(len(sorted)-1)
	below := int(math.Floor(at))
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (at-math.Floor(at))*(sorted[below+1]-sorted[below])
}

// comparison holds the test of two clean samples. Its numbers are computed when they are needed.
type comparison struct {
	experiment, control []float64 // Sorted, with noise if each of them has only one value.
	original            samples
	z                   float64
	lower, upper        *float64
	middle              *float64
	meanRatio           *float64
	cles                *float64
}

type samples struct{ experiment, control []float64 }

func newComparison(original samples, confidence float64) *comparison {
	made := &comparison{original: original, experiment: original.experiment, control: original.control, z: normalQuantile(confidence)}
	if len(original.experiment) > 0 && len(original.control) > 0 && isConstant(original.experiment) && isConstant(original.control) {
		random := rand.New(rand.NewSource(1)) // Kayenta's noise differs from call to call; here it is always the same.
		made.experiment = withNoise(original.experiment, random)
		made.control = withNoise(original.control, random)
	}
	return made
}

func isConstant(sorted []float64) bool { return sorted[0] == sorted[len(sorted)-1] }

// withNoise adds Gaussian noise of a hundred-thousandth of the value, which breaks the ties.
func withNoise(values []float64, random *rand.Rand) []float64 {
	noisy := make([]float64, len(values))
	for i, value := range values {
		noisy[i] = value + random.NormFloat64()*value*1e-5
	}
	return ascending(noisy)
}

func (c *comparison) test() wilcoxon { return wilcoxon{c.experiment, c.control} }

func lazy(known **float64, compute func() float64) float64 {
	if *known == nil {
		value := compute()
		*known = &value
	}
	return **known
}

func (c *comparison) lowerBound() float64 {
	return lazy(&c.lower, func() float64 { return c.test().bound(c.z) })
}

func (c *comparison) upperBound() float64 {
	return lazy(&c.upper, func() float64 { return c.test().bound(-c.z) })
}

func (c *comparison) estimate() float64 { return lazy(&c.middle, c.test().estimate) }

// effect returns the size of the effect, NaN if a mean is 0.
func (c *comparison) effect(measure string) float64 {
	if measure == "cles" {
		return lazy(&c.cles, func() float64 {
			m, n := float64(len(c.experiment)), float64(len(c.control))
			rankSum, _ := c.test().ranks(0)
			return (2*rankSum - m*(m+1)) / (2 * n * m)
		})
	}
	return lazy(&c.meanRatio, func() float64 {
		control, experiment := mean(c.control), mean(c.experiment)
		if control == 0 || experiment == 0 {
			return math.NaN()
		}
		return experiment / control
	})
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}

// classification is the label of a metric, and whether it fails the whole canary.
type classification struct {
	label    Label
	critical bool
}

// classify compares the canary (the experiment) with the baseline (the control).
func classify(compared *comparison, config *Canary, levels levels) classification {
	experiment, control := compared.original.experiment, compared.original.control
	if len(experiment) == 0 || len(control) == 0 {
		return withoutData(config)
	}
	if slices.Equal(experiment, control) || (isConstant(experiment) && isConstant(control) && experiment[0] == control[0]) {
		return classification{label: Pass}
	}
	label := compare(compared, config, levels)
	if label == Pass || label == Error || !config.Critical {
		return classification{label: label}
	}
	otherwise := noEffect(config.EffectSize.Measure)
	effect := compared.effect(config.EffectSize.Measure)
	if label == High {
		return classification{label, math.IsNaN(effect) || effect >= orElse(config.EffectSize.CriticalIncrease, otherwise)}
	}
	return classification{label, math.IsNaN(effect) || effect <= orElse(config.EffectSize.CriticalDecrease, otherwise)}
}

func withoutData(config *Canary) classification {
	switch {
	case config.NaNStrategy == "replace":
		return classification{label: Pass}
	case config.MustHaveData && !config.Critical:
		return classification{label: NodataFailMetric}
	default:
		return classification{label: Nodata, critical: config.Critical}
	}
}

// noEffect is the size of the effect between equal samples.
func noEffect(measure string) float64 {
	if measure == "cles" {
		return 0.5
	}
	return 1
}

// compare finds whether the whole confidence interval of the shift lies above the tolerance, or below it. The tolerance
// is a share of the estimated shift itself.
func compare(compared *comparison, config *Canary, levels levels) Label {
	if compared.test().isTiedAtItsLimit() {
		return Error
	}
	measure, otherwise := config.EffectSize.Measure, noEffect(config.EffectSize.Measure)
	if config.Direction != "decrease" && compared.lowerBound() > 0 &&
		compared.lowerBound() > levels.tolerance*math.Abs(compared.estimate()) {
		effect := compared.effect(measure)
		if math.IsNaN(effect) || effect >= orElse(config.EffectSize.AllowedIncrease, otherwise) {
			return High
		}
	}
	if config.Direction != "increase" && compared.upperBound() < 0 &&
		compared.upperBound() < -levels.tolerance*math.Abs(compared.estimate()) {
		effect := compared.effect(measure)
		if math.IsNaN(effect) || effect <= orElse(config.EffectSize.AllowedDecrease, otherwise) {
			return Low
		}
	}
	return Pass
}
