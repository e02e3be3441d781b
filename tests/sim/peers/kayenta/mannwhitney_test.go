package kayenta

import (
	"encoding/json"
	"math"
	"math/rand"
	"os"
	"slices"
	"testing"
)

// sciPy is a file made by testdata/make.py.
type sciPy struct {
	SciPy string `json:"scipy"`
	Rows  []struct {
		X     []float64 `json:"x"`
		Y     []float64 `json:"y"`
		Shift float64   `json:"shift"`
		U     float64   `json:"u"`
		P     float64   `json:"p"`
	} `json:"rows"`
}

func TestStatisticIsThatOfSciPy(t *testing.T) {
	text, err := os.ReadFile("testdata/mannwhitney.json")
	if err != nil {
		t.Fatal(err)
	}
	file, ties := sciPy{}, 0
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for i, row := range file.Rows {
		test := wilcoxon{ascending(row.X), ascending(row.Y)}
		rankSum, tied := test.ranks(row.Shift)
		m := float64(len(row.X))
		if u := rankSum - m*(m+1)/2; u != row.U {
			t.Errorf("row %d: U is %v, SciPy has %v", i, u, row.U)
		}
		if p := math.Erfc(math.Abs(test.statistic(row.Shift, 0)) / math.Sqrt2); math.Abs(p-row.P) > 1e-12 {
			t.Errorf("row %d: the p-value is %v, SciPy has %v", i, p, row.P)
		}
		if tied > 0 {
			ties++
		}
	}
	if len(file.Rows) < 50 || ties < 20 || ties == len(file.Rows) {
		t.Errorf("%d of %d rows have ties", ties, len(file.Rows))
	}
}

// crossing returns the shift at which the statistic changes its sign. The statistic is a step function with its steps
// at the differences of the samples.
func crossing(test wilcoxon, quantile float64) float64 {
	differences := []float64{}
	for _, x := range test.x {
		for _, y := range test.y {
			differences = append(differences, x-y)
		}
	}
	slices.Sort(differences)
	for i, difference := range differences {
		above := difference + 1
		if i+1 < len(differences) {
			above = (difference + differences[i+1]) / 2
		}
		if test.statistic(above, quantile) < 0 {
			return difference
		}
	}
	return differences[len(differences)-1]
}

func TestSolverFindsTheStepAtWhichTheStatisticChangesItsSign(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 200 {
		x, y := make([]float64, 10+random.Intn(50)), make([]float64, 10+random.Intn(50))
		for i := range x {
			x[i] = random.NormFloat64()
		}
		for i := range y {
			y[i] = random.NormFloat64() + 1
		}
		test := wilcoxon{ascending(x), ascending(y)}
		for _, quantile := range []float64{normalQuantile(0.98), -normalQuantile(0.98)} {
			if found, wanted := test.bound(quantile), crossing(test, quantile); math.Abs(found-wanted) > rootTolerance {
				t.Errorf("bound for %v is %v, the step is at %v", quantile, found, wanted)
			}
		}
	}
}

func TestConfidenceIntervalCoversTheTrueShiftInItsShareOfCases(t *testing.T) {
	random, covered := rand.New(rand.NewSource(2)), 0
	const cases = 2000
	for range cases {
		x, y := make([]float64, 30), make([]float64, 30)
		for i := range x {
			x[i], y[i] = random.NormFloat64()+0.5, random.NormFloat64()
		}
		test := wilcoxon{ascending(x), ascending(y)}
		if test.bound(normalQuantile(0.98)) <= 0.5 && 0.5 <= test.bound(-normalQuantile(0.98)) {
			covered++
		}
	}
	if share := float64(covered) / cases; share < 0.97 || share > 0.99 {
		t.Errorf("an interval of 98 %% covers the shift in %v of all cases", share)
	}
}

func TestEstimateIsTheMedianOfTheDifferences(t *testing.T) {
	test := wilcoxon{[]float64{1, 2, 3, 7}, []float64{0, 1, 1.5}}
	differences := []float64{}
	for _, x := range test.x {
		for _, y := range test.y {
			differences = append(differences, x-y)
		}
	}
	slices.Sort(differences)
	if found, wanted := test.estimate(), (differences[5]+differences[6])/2; math.Abs(found-wanted) > 0.3 {
		t.Errorf("estimate is %v, the median is %v", found, wanted)
	}
}
