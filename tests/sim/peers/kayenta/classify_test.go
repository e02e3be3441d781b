package kayenta

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"
)

func normals(random *rand.Rand, mean float64) []float64 {
	values := make([]float64, 30)
	for i := range values {
		values[i] = mean + random.NormFloat64()
	}
	return values
}

func repeat(value float64) []float64 {
	values := make([]float64, 10)
	for i := range values {
		values[i] = value
	}
	return values
}

func classified(experiment, control []float64, config Canary) classification {
	cleaning := config.cleaning()
	return classify(newComparison(samples{cleaning.clean(experiment), cleaning.clean(control)}, judgeLevels.confidence), &config, judgeLevels)
}

func number(value float64) *float64 { return &value }

// The cases follow the names of the tests in ClassifierSuite.scala of Kayenta, with data of their own.
func TestMetricIsClassified(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	ten, other, twenty, nan := normals(random, 10), normals(random, 10), normals(random, 20), math.NaN()
	for _, one := range []struct {
		name                string
		experiment, control []float64
		config              Canary
		label               Label
		critical            bool
	}{
		{"equal distributions", other, ten, Canary{}, Pass, false},
		{"higher", twenty, ten, Canary{}, High, false},
		{"lower", ten, twenty, Canary{}, Low, false},
		{"lower, only an increase fails", ten, twenty, Canary{Direction: "increase"}, Pass, false},
		{"higher, only a decrease fails", twenty, ten, Canary{Direction: "decrease"}, Pass, false},
		{"higher, critical", twenty, ten, Canary{Critical: true}, High, true},
		{"lower, critical", ten, twenty, Canary{Critical: true}, Low, true},
		{"identical data", ten, ten, Canary{Critical: true}, Pass, false},
		{"all observations tied", repeat(3), repeat(3), Canary{}, Pass, false},
		{"constant samples of different length", repeat(3), repeat(3)[:5], Canary{}, Pass, false},
		{"constant and higher", repeat(3), repeat(2), Canary{}, High, false},
		{"constant and higher than zero", repeat(3), repeat(0), Canary{}, High, false},
		{"two single values", []float64{2}, []float64{1}, Canary{Critical: true}, Error, false},
		{"increase below the allowed one", twenty, ten, Canary{EffectSize: EffectSize{AllowedIncrease: number(3)}}, Pass, false},
		{"increase above the allowed one", twenty, ten, Canary{EffectSize: EffectSize{AllowedIncrease: number(1.5)}}, High, false},
		{"decrease below the allowed one", ten, twenty, Canary{EffectSize: EffectSize{AllowedDecrease: number(0.3)}}, Pass, false},
		{"increase below the critical one", twenty, ten, Canary{Critical: true, EffectSize: EffectSize{CriticalIncrease: number(3)}}, High, false},
		{"zero mean: the size of the effect is unknown and ignored", twenty, repeat(0), Canary{EffectSize: EffectSize{AllowedIncrease: number(99)}}, High, false},
		{"CLES above the allowed one", twenty, ten, Canary{EffectSize: EffectSize{Measure: "cles", AllowedIncrease: number(0.9)}}, High, false},
		{"CLES of complete separation is 1", twenty, ten, Canary{EffectSize: EffectSize{Measure: "cles", AllowedIncrease: number(1.01)}}, Pass, false},
		{"no data", nil, ten, Canary{}, Nodata, false},
		{"no data, critical", []float64{nan, nan}, ten, Canary{Critical: true}, Nodata, true},
		{"no data, but it must have data", nil, ten, Canary{MustHaveData: true}, NodataFailMetric, false},
		{"no data at all, and NaN is replaced", nil, ten, Canary{NaNStrategy: "replace"}, Pass, false},
		{"NaN is removed", append([]float64{nan, nan}, ten...), ten, Canary{}, Pass, false},
		{"NaN is replaced by 0", []float64{nan, nan, nan, nan, nan, nan, nan, nan}, ten, Canary{NaNStrategy: "replace"}, Low, false},
	} {
		found := classified(one.experiment, one.control, one.config)
		if found != (classification{one.label, one.critical}) {
			t.Errorf("%s: %v, wanted %v", one.name, found, classification{one.label, one.critical})
		}
	}
}

// wilcox.test of R needs 7 of 7 values above the others at 98 % (p = 0.002); with the tolerance of a quarter of the shift
// the whole interval must also lie above a quarter of the estimate.
func TestToleranceIsAShareOfTheEstimatedShift(t *testing.T) {
	experiment, control := []float64{2.1, 3, 4, 5, 6, 7, 20}, []float64{1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2}
	compared := newComparison(samples{experiment, control}, 0.98)
	share := compared.lowerBound() / compared.estimate()
	if share <= 0 || share >= 0.25 {
		t.Fatalf("the example has no lower bound between 0 and a quarter of the estimate, but at %v of it", share)
	}
	if found := compare(compared, &Canary{}, levels{0.25, 0.98}); found != Pass {
		t.Errorf("classified as %v although the lower bound is only %v of the estimate", found, share)
	}
	if found := compare(compared, &Canary{}, levels{share * 0.9, 0.98}); found != High {
		t.Errorf("classified as %v although the lower bound is above the tolerance", found)
	}
}

func TestOutliersAreRemovedByTheirDistanceFromTheQuartiles(t *testing.T) {
	sample := []float64{5, 1, 2, 3, 4, 100}
	if kept := (cleaning{}).clean(sample); len(kept) != 6 {
		t.Errorf("kept %v without a strategy", kept)
	}
	// The quartiles are 2.25 and 4.75, so 100 is above 4.75 + 3 * 2.5. It is also above the 99 % quantile, 95.25.
	config := Canary{Outliers: Outliers{Strategy: "remove"}}
	if kept := config.cleaning().clean(sample); len(kept) != 5 || kept[4] != 5 {
		t.Errorf("kept %v", kept)
	}
	config.Outliers.Factor = number(40)
	if kept := config.cleaning().clean(sample); len(kept) != 6 {
		t.Errorf("kept %v with factor 40", kept)
	}
}

func TestPercentileInterpolates(t *testing.T) {
	sample := []float64{0, 10, 20, 40}
	for percent, wanted := range map[float64]float64{0: 0, 25: 7.5, 50: 15, 75: 25, 100: 40} {
		if found := percentile(sample, percent); math.Abs(found-wanted) > 1e-12 {
			t.Errorf("percentile %v is %v, wanted %v", percent, found, wanted)
		}
	}
}

// numbers reads numbers that commas separate; "-" is an empty list.
func numbers(t *testing.T, text string) []float64 {
	t.Helper()
	values := []float64{}
	if text == "-" {
		return values
	}
	for _, word := range strings.Split(text, ",") {
		value, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	return values
}

// configOf reads the options of a line of testdata/judged.txt, which samples.py there describes.
func configOf(t *testing.T, fields []string) Canary {
	t.Helper()
	limits := numbers(t, strings.Join(fields[8:12], ","))
	config := Canary{
		Direction: fields[2], NaNStrategy: fields[3], Critical: fields[5] == "true", MustHaveData: fields[6] == "true",
		EffectSize: EffectSize{fields[7], &limits[1], &limits[0], &limits[3], &limits[2]},
	}
	if fields[4] != "-" {
		config.Outliers = Outliers{"remove", &numbers(t, fields[4])[0]}
	}
	return config
}

func TestLabelsAndIntervalsAreThoseOfKayentasOwnClasses(t *testing.T) {
	text, err := os.ReadFile("testdata/judged.txt")
	if err != nil {
		t.Fatal(err)
	}
	labels, intervals := map[string]int{}, 0
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		fields := strings.Split(line, " ")
		config := configOf(t, fields)
		cleaning := config.cleaning()
		experiment, control := cleaning.clean(numbers(t, fields[0])), cleaning.clean(numbers(t, fields[1]))
		compared := newComparison(samples{experiment, control}, judgeLevels.confidence)
		found := classify(compared, &config, judgeLevels)
		if text := fmt.Sprintf("%s %v", found.label, found.critical); text != fields[12]+" "+fields[13] {
			t.Errorf("line %d: %s, Kayenta has %s %s", i+1, text, fields[12], fields[13])
		}
		labels[fields[12]]++
		if fields[14] == "-" || (isConstant(experiment) && isConstant(control)) {
			continue // Without data, or with random noise.
		}
		intervals++
		wanted := numbers(t, strings.Join(fields[14:17], ","))
		for k, number := range []float64{compared.lowerBound(), compared.upperBound(), compared.estimate()} {
			if math.Abs(number-wanted[k]) > 1e-9 {
				t.Errorf("line %d: lower bound, upper bound or estimate is %v, Kayenta has %v", i+1, number, wanted[k])
			}
		}
	}
	if labels["Pass"] < 20 || labels["High"] < 20 || labels["Low"] < 10 || labels["Nodata"] < 1 || intervals < 100 {
		t.Errorf("the file has only %v and %d intervals", labels, intervals)
	}
}
