package kayenta

import (
	"math"
	"slices"
)

// This file is a port of the Mann-Whitney test of Kayenta, commit a69573be9d8fededacf80817e4151a2c8df41276:
// kayenta-mannwhitney/src/main/scala/com/netflix/kayenta/mannwhitney/MannWhitney.scala and BrentSolver.java beside it.
// Like wilcox.test of R with correct = TRUE and exact = FALSE, it finds the location shifts at which the test statistic
// has given values. The results depend on the tolerance and the steps of the solver, so both are kept.

// wilcoxon is the comparison of two samples, sorted in ascending order.
type wilcoxon struct{ x, y []float64 }

// statistic returns the z-value of the hypothesis that x is y shifted by `shift`, with correction for continuity and
// ties, minus `quantile`. It falls as the shift grows.
func (w wilcoxon) statistic(shift, quantile float64) float64 {
	m, n := float64(len(w.x)), float64(len(w.y))
	rankSum, ties := w.ranks(shift)
	z := rankSum - m*(m+1)/2 - m*n/2
	correction := 0.0
	if z > 0 {
		correction = 0.5
	} else if z < 0 {
		correction = -0.5
	}
	sigma := math.Sqrt(m * n / 12 * (m + n + 1 - ties/((m+n)*(m+n-1))))
	return (z-correction)/sigma - quantile
}

// ranks returns the sum of the ranks of x - shift in both samples together, where equal values share their mean rank,
// and the sum of t^3 - t over all groups of t equal values. Both are exact.
func (w wilcoxon) ranks(shift float64) (rankSum, ties float64) {
	i, j := 0, 0
	for i < len(w.x) || j < len(w.y) {
		var value float64
		if j == len(w.y) || (i < len(w.x) && w.x[i]-shift <= w.y[j]) {
			value = w.x[i] - shift
		} else {
			value = w.y[j]
		}
		before, beforeX := i+j, i
		for i < len(w.x) && w.x[i]-shift == value {
			i++
		}
		for j < len(w.y) && w.y[j] == value {
			j++
		}
		equal := float64(i + j - before)
		rankSum += float64(i-beforeX) * (float64(before) + (equal+1)/2)
		ties += equal*equal*equal - equal
	}
	return rankSum, ties
}

func (w wilcoxon) limits() (low, high float64) {
	return w.x[0] - w.y[len(w.y)-1], w.x[len(w.x)-1] - w.y[0]
}

// isTiedAtItsLimit reports whether all values are equal after the smallest shift that is tried. The statistic is then
// not defined, and Kayenta's test throws an exception. Rounding prevents this for some pairs of numbers.
func (w wilcoxon) isTiedAtItsLimit() bool {
	low, _ := w.limits()
	return isConstant(w.x) && isConstant(w.y) && w.x[0]-low == w.y[0]
}

// bound returns an end of the confidence interval of the shift.
func (w wilcoxon) bound(quantile float64) float64 {
	low, high := w.limits()
	atLow, atHigh := w.statistic(low, quantile), w.statistic(high, quantile)
	if atLow <= 0 {
		return low
	}
	if atHigh >= 0 {
		return high
	}
	return w.solve(low, high, atLow, atHigh, quantile)
}

// estimate returns the shift at which the statistic is 0, which estimates the median of the differences x - y.
func (w wilcoxon) estimate() float64 {
	low, high := w.limits()
	return w.solve(low, high, w.statistic(low, 0), w.statistic(high, 0), 0)
}

// normalQuantile returns the upper quantile of the normal distribution for a two-sided interval.
func normalQuantile(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }

const (
	iterationsMax    = 1000
	rootTolerance    = 1e-4
	machineEpsilon   = 2.220446049250313e-16
	smallestPositive = math.SmallestNonzeroFloat64
)

// isZero allows one unit in the last place, as Precision.equals(value, 0) of Commons Math does.
func isZero(value float64) bool { return math.Abs(value) <= smallestPositive }

// solve finds a root of the statistic by Brent's method: R. P. Brent, Algorithms for Minimization without Derivatives
// (1973), chapter 4. `a` holds the step before, `b` is the best guess, and the root lies between `b` and `c`.
func (w wilcoxon) solve(low, high, atLow, atHigh, quantile float64) float64 {
	if isZero(atLow) {
		return low
	}
	if isZero(atHigh) {
		return high
	}
	a, b, c := low, high, low
	fa, fb, fc := atLow, atHigh, atLow
	for range iterationsMax + 1 {
		before := b - a
		if math.Abs(fc) < math.Abs(fb) {
			a, b, c = b, c, b
			fa, fb, fc = fb, fc, fb
		}
		tolerance := 2*machineEpsilon*math.Abs(b) + rootTolerance/2
		half := (c - b) / 2
		if math.Abs(half) <= tolerance || isZero(fb) {
			return b
		}
		step := half
		if math.Abs(before) >= tolerance && math.Abs(fa) > math.Abs(fb) {
			step = interpolate(a, b, c, fa, fb, fc, before, tolerance)
		}
		if math.Abs(step) < tolerance {
			if step > 0 {
				step = tolerance
			} else {
				step = -tolerance
			}
		}
		a, fa = b, fb
		b += step
		fb = w.statistic(b, quantile)
		if (fb > 0 && fc > 0) || (fb < 0 && fc < 0) {
			c, fc = a, fa
		}
	}
	return b
}

// interpolate returns the step of a secant or of an inverse quadratic interpolation, or half the interval if that step
// is too long.
func interpolate(a, b, c, fa, fb, fc, before, tolerance float64) float64 {
	var p, q float64
	width := c - b
	if a == c {
		ratio := fb / fa
		p, q = width*ratio, 1-ratio
	} else {
		ac, bc, ba := fa/fc, fb/fc, fb/fa
		p = ba * (width*ac*(ac-bc) - (b-a)*(bc-1))
		q = (ac - 1) * (bc - 1) * (ba - 1)
	}
	if p > 0 {
		q = -q
	} else {
		p = -p
	}
	if p < 0.75*width*q-math.Abs(tolerance*q)/2 && p < math.Abs(before*q/2) {
		return p / q
	}
	return width / 2
}

// ascending returns a sorted copy.
func ascending(values []float64) []float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted
}
