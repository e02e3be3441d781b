package answers

import (
	"math"
	"math/rand"
	"testing"
)

func TestConvexFunctionIsAskedSeldomAndAnsweredRightly(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	limit := random.Float64()
	remembered := New(Convex, func(value float64) (bool, error) { return value <= limit, nil })
	for range 100000 {
		value := random.Float64()
		if answer, err := remembered.Of(value); err != nil || answer != (value <= limit) {
			t.Fatalf("answer for %v is %v, %v; the limit is %v", value, answer, err, limit)
		}
	}
	if remembered.Asked > 100 {
		t.Errorf("the function was asked %d times", remembered.Asked)
	}
}

func TestNumbersBetweenDifferentAnswersAreAsked(t *testing.T) {
	remembered := New(Convex, func(value float64) (int, error) { return int(math.Floor(value)), nil })
	for _, value := range []float64{0, 2.9, 1.5, 0.9, 2} {
		if answer, err := remembered.Of(value); err != nil || answer != int(math.Floor(value)) {
			t.Errorf("answer for %v is %v, %v", value, answer, err)
		}
	}
	if remembered.Asked != 5 {
		t.Errorf("the function was asked %d times", remembered.Asked)
	}
}

func TestFunctionThatIsNotConvexIsAnError(t *testing.T) {
	remembered := New(Convex, func(value float64) (bool, error) { return value == 1, nil })
	for _, value := range []float64{0, 1} {
		if _, err := remembered.Of(value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := remembered.Of(2); err == nil {
		t.Error("0 and 2 have another answer than 1, and there is no error")
	}
}

func TestArbitraryFunctionAndNaNAreAskedOncePerNumber(t *testing.T) {
	remembered := New(Arbitrary, func(value float64) (bool, error) { return value == 1, nil })
	for range 3 {
		for _, value := range []float64{0, 1, 2, math.NaN()} {
			if answer, err := remembered.Of(value); err != nil || answer != (value == 1) {
				t.Errorf("answer for %v is %v, %v", value, answer, err)
			}
		}
	}
	if remembered.Asked != 4 {
		t.Errorf("the function was asked %d times", remembered.Asked)
	}
}
