// Kernels for arithmetic on two tensors, with broadcasting.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "serving-node/engine/kernels/base/elementwise.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

// Computes f(a, b). Integers wrap around, as in TensorFlow; they are computed as unsigned, because in C++ only unsigned
// types wrap around.
template <typename T, typename F>
T Wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return f(a, b);
  }
}

// Divides integers. Division by -1 is computed as a negation, because the quotient of the smallest integer does not fit
// into its type.
template <typename T>
T Quotient(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return Wrapping(T{0}, a, [](auto x, auto y) { return x - y; });
  }
  return static_cast<T>(a / b);
}

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return Wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <typename T>
  T operator()(T a, T b) const {
    return Wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Mul {
  template <typename T>
  T operator()(T a, T b) const {
    return Wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct Div {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return Quotient(a, b);
    else
      return a / b;
  }
};
struct FloorDiv {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::floor(a / b);
    else if constexpr (std::is_unsigned_v<T>)
      return static_cast<T>(a / b);
    else {
      const T quotient = Quotient(a, b);
      const bool is_exact = b == T(-1) || a % b == 0;
      return static_cast<T>(!is_exact && ((a < 0) != (b < 0)) ? quotient - 1 : quotient);
    }
  }
};
struct FloorMod {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      return rest != 0 && ((b < 0) != (rest < 0)) ? rest + b : rest;
    } else {
      if (std::is_signed_v<T> && b == T(-1)) return 0;
      const T rest = static_cast<T>(a % b);
      return static_cast<T>(rest != 0 && ((b < 0) != (rest < 0)) ? rest + b : rest);
    }
  }
};
struct TruncateMod {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(a, b);
    else
      return std::is_signed_v<T> && b == T(-1) ? T{0} : static_cast<T>(a % b);
  }
};
struct DivNoNan {
  template <typename T>
  T operator()(T a, T b) const {
    return b == 0 ? T{0} : a / b;
  }
};
struct MulNoNan {
  template <typename T>
  T operator()(T a, T b) const {
    return b == 0 ? T{0} : a * b;
  }
};
// The result is NaN if either argument is NaN.
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return a != a || a > b ? a : b;
  }
};
struct Minimum {
  template <typename T>
  T operator()(T a, T b) const {
    return a != a || a < b ? a : b;
  }
};
struct SquaredDifference {
  template <typename T>
  T operator()(T a, T b) const {
    const T d = Sub{}(a, b);
    return Mul{}(d, d);
  }
};
struct Pow {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::pow(a, b);
    else {
      T product = 1;
      for (auto left = static_cast<uint64_t>(b); left > 0; left >>= 1) {
        if ((left & 1) != 0) product = Mul{}(product, a);
        a = Mul{}(a, a);
      }
      return product;
    }
  }
};
struct Atan2 {
  template <typename T>
  T operator()(T a, T b) const {
    return std::atan2(a, b);
  }
};

struct BitwiseAnd {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

template <typename F>
Outputs Bits(const Call& call) {
  return ForIntegers(call.in(0).type(), [&](auto tag) { return BinaryOf<typename decltype(tag)::type>(call, F{}); });
}

template <typename F>
Outputs Numbers(const Call& call) {
  return ForNumbers(call.in(0).type(), [&](auto tag) { return BinaryOf<typename decltype(tag)::type>(call, F{}); });
}

template <typename F>
Outputs Floats(const Call& call) {
  return ForFloats(call.in(0).type(), [&](auto tag) { return BinaryOf<typename decltype(tag)::type>(call, F{}); });
}

// Runs a kernel that divides. InvalidArgument if an integer divisor is zero.
template <typename F>
Outputs Dividing(const Call& call) {
  return ForNumbers(call.in(0).type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      RETURN_IF_ERROR(CheckSameTypes(call));
      const auto divisors = call.in(1).values<T>();
      if (std::find(divisors.begin(), divisors.end(), T{0}) != divisors.end())
        return InvalidArgument("Integer division by zero");
    }
    return BinaryOf<T>(call, F{});
  });
}

Outputs PowOf(const Call& call) {
  return ForNumbers(call.in(0).type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      RETURN_IF_ERROR(CheckSameTypes(call));
      const auto powers = call.in(1).values<T>();
      if (std::any_of(powers.begin(), powers.end(), [](T p) { return p < 0; })) {
        return InvalidArgument("Integers to negative integer powers are not allowed");
      }
    }
    return BinaryOf<T>(call, Pow{});
  });
}

Outputs AddOf(const Call& call) {
  if (call.in(0).type() != DType::kString) return Numbers<Add>(call);
  return BinaryOf<std::string>(call, [](const std::string& a, const std::string& b) { return a + b; });
}

// DT_HALF and DT_BFLOAT16 are rounded after the subtraction and after the multiplication, as in TensorFlow.
Outputs SquaredDifferenceOf(const Call& call) {
  if (!HasShortFloats(call.inputs)) return Numbers<SquaredDifference>(call);
  ASSIGN_OR_RETURN(const auto apart, AlsoShort<Numbers<Sub>>(call));
  const Tensor both[] = {apart[0], apart[0]};
  return AlsoShort<Numbers<Mul>>(call.With(both));
}

Outputs AddN(const Call& call) {
  Tensor sum = call.in(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (call.in(i).shape() != sum.shape())
      return InvalidArgument("inputs have different shapes: {} and {}", ToString(sum.shape()),
                             ToString(call.in(i).shape()));
    const Tensor both[] = {sum, call.in(i)};
    ASSIGN_OR_RETURN(auto outputs, AlsoShort<Numbers<Add>>(call.With(both)));
    sum = outputs[0];
  }
  return One(sum);
}

constexpr TypeSet kNumbersAndText = kNumbers | Only(DType::kString);
constexpr Kernel kKernels[] = {
    {"Add", AlsoShort<AddOf>, 2, kNumbersAndText | kShortFloats},
    {"AddV2", AlsoShort<AddOf>, 2, kNumbersAndText | kShortFloats},
    {"AddN", AddN, 1, kNumbers | kShortFloats},
    {"Sub", AlsoShort<Numbers<Sub>>, 2, kNumbers | kShortFloats},
    {"Mul", AlsoShort<Numbers<Mul>>, 2, kNumbers | kShortFloats},
    {"Div", AlsoShort<Dividing<Div>>, 2, kNumbers | kShortFloats},
    {"RealDiv", AlsoShort<Floats<Div>>, 2, kFloats | kShortFloats},
    {"TruncateDiv", Dividing<Div>, 2, kNumbers},
    {"FloorDiv", AlsoShort<Dividing<FloorDiv>>, 2, kNumbers | kShortFloats},
    {"FloorMod", AlsoShort<Dividing<FloorMod>>, 2, kNumbers | kShortFloats},
    {"Mod", AlsoShort<Dividing<TruncateMod>>, 2, kNumbers | kShortFloats},
    {"TruncateMod", Dividing<TruncateMod>, 2, kNumbers},
    {"DivNoNan", AlsoShort<Floats<DivNoNan>>, 2, kFloats | kShortFloats},
    {"MulNoNan", AlsoShort<Floats<MulNoNan>>, 2, kFloats | kShortFloats},
    {"Maximum", AlsoShort<Numbers<Maximum>>, 2, kNumbers | kShortFloats},
    {"Minimum", AlsoShort<Numbers<Minimum>>, 2, kNumbers | kShortFloats},
    {"SquaredDifference", SquaredDifferenceOf, 2, kNumbers | kShortFloats},
    {"Pow", AlsoShort<PowOf>, 2, kNumbers | kShortFloats},
    {"BitwiseAnd", Bits<BitwiseAnd>, 2, kIntegers},
    {"BitwiseOr", Bits<BitwiseOr>, 2, kIntegers},
    {"BitwiseXor", Bits<BitwiseXor>, 2, kIntegers},
    {"Atan2", AlsoShort<Floats<Atan2>>, 2, kFloats | kShortFloats},
};

}  // namespace

std::span<const Kernel> BinaryKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
