#include "serving-node/evidence/distances.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "serving-node/evidence/elements.h"

namespace longshore::evidence {
namespace {

using tensor::Tensor;

template <typename Number>
bool AreSame(Number a, Number b) {
  return a == b || (a != a && b != b);
}

template <typename T>
Distances Pass(const Row<T>& a, const Row<T>& b) {
  Distances found;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = a[i], y = b[i];
    const double distance = Distance(x, y);
    if (std::isfinite(distance)) {
      found.difference_max = std::max(found.difference_max, distance);
      found.magnitude_a = std::max(found.magnitude_a, std::abs(static_cast<double>(x)));
      found.magnitude_b = std::max(found.magnitude_b, std::abs(static_cast<double>(y)));
    } else {
      found.only_one_is_such |= !AreSame(x, y);
    }
  }
  return found;
}

double ShareOfOtherElements(const Tensor& a, const Tensor& b) {
  const auto elements = static_cast<size_t>(a.elements());
  const size_t bytes = tensor::ElementBytes(a.type());
  size_t others = 0;
  for (size_t i = 0; i < elements; ++i) {
    const bool same = a.type() == tensor::DType::kString
                          ? a.values<std::string>()[i] == b.values<std::string>()[i]
                          : std::memcmp(a.data() + i * bytes, b.data() + i * bytes, bytes) == 0;
    others += same ? 0 : 1;
  }
  return static_cast<double>(others) / static_cast<double>(std::max<size_t>(elements, 1));
}

}  // namespace

double Distances::relative() const {
  if (others) return *others;
  if (only_one_is_such) return 1;
  if (difference_max == 0) return 0;
  const double scale = magnitude_a + magnitude_b;
  return std::isfinite(scale) ? difference_max / scale : difference_max / 2 / (magnitude_a / 2 + magnitude_b / 2);
}

std::optional<double> Distances::absolute() const {
  if (others || only_one_is_such) return std::nullopt;
  return difference_max;
}

Distances DistancesOf(const Tensor& a, const Tensor& b) {
  Distances found;
  const bool is_real = WithElements(a.type(), [&]<typename T>(T) {
    found = Pass(Row<T>(a), Row<T>(b));
    return true;
  });
  if (!is_real) found.others = ShareOfOtherElements(a, b);
  return found;
}

}  // namespace longshore::evidence
