// Converts numbers to other types, and bytes to numbers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

// Calls f(TypeTag<T>), where T is the C++ type of `type`, which must be bool or in kNumbers.
template <typename F>
Outputs ForPlain(DType type, F f) {
  return type == DType::kBool ? f(TypeTag<bool>{}) : ForNumbers(type, f);
}

// Converting a float that is out of range to an integer is undefined in C++. This function then returns the smallest
// integer, as x86 does. Types narrower than int32 are converted through int64.
template <typename To, typename From>
To Cast(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr double kLow = static_cast<double>(std::numeric_limits<int64_t>::min());
    if (std::is_same_v<To, uint64_t> && value >= From(-kLow) && value < From(-2 * kLow))
      return static_cast<To>(static_cast<uint64_t>(value));
    const bool fits_wide = value >= From(kLow) && value < From(-kLow);
    const int64_t wide = fits_wide ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::min();
    if (std::is_same_v<To, int32_t> && wide != static_cast<int32_t>(wide))
      return static_cast<To>(std::numeric_limits<int32_t>::min());
    return static_cast<To>(wide);
  } else {
    return static_cast<To>(value);
  }
}

Outputs CastPlain(const Tensor& in, DType to) {
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(to, in.shape()));
  return ForPlain(in.type(), [&](auto from_tag) {
    return ForPlain(to, [&](auto to_tag) {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      for (int64_t i = 0; i < in.elements(); ++i) Raw<To>(out)[i] = Cast<To>(Raw<From>(in)[i]);
      return One(out);
    });
  });
}

Outputs CastOf(const Call& call) {
  const DType to = call.attributes().Type("DstT");
  Tensor in = call.in(0);
  if (in.type() == to) return One(in);
  if (HasShortFloats({&in, 1})) {
    ASSIGN_OR_RETURN(in, FromShortFloat(in));
  }
  if ((Only(to) & kShortFloats) == 0) return CastPlain(in, to);
  ASSIGN_OR_RETURN(const auto wide, CastPlain(in, DType::kFloat));
  return One(ToShortFloat(wide[0], to));
}

// If the new elements are wider, each is made of all elements along the last dimension, which is removed. If they are
// narrower, a new last dimension is added.
Outputs Bitcast(const Call& call) {
  const DType to = call.attributes().Type("type");
  const auto from_bytes = static_cast<int64_t>(tensor::ElementBytes(call.in(0).type()));
  const auto to_bytes = static_cast<int64_t>(tensor::ElementBytes(to));
  if (to_bytes == 0 || from_bytes == 0) return WrongType(to);
  Shape shape = call.in(0).shape();
  if (from_bytes > to_bytes) shape.push_back(from_bytes / to_bytes);
  if (from_bytes < to_bytes) {
    if (shape.empty() || shape.back() != to_bytes / from_bytes) {
      return InvalidArgument(
          "{}{} cannot be cast to {}: the last dimension must be {}, to hold the bytes of one element",
          DTypeName(call.in(0).type()), ToString(shape), DTypeName(to), to_bytes / from_bytes);
    }
    shape.pop_back();
  }
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(to, shape));
  std::memcpy(out.mutable_data(), call.in(0).data(), out.bytes());
  return One(out);
}

// Reverses the bytes of each element.
void SwapBytes(size_t element_bytes, Tensor* out) {
  std::byte* data = out->mutable_data();
  for (std::byte* at = data; at != data + out->bytes(); at += element_bytes) std::reverse(at, at + element_bytes);
}

// Reads the bytes of each string as numbers, little-endian unless the attribute little_endian is false. All strings
// must have the same length.
Outputs DecodeRaw(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.type() != DType::kString) return WrongType(in.type());
  const DType type = call.attributes().Type("out_type");
  const size_t size = tensor::ElementBytes(type);
  const auto texts = in.values<std::string>();
  const size_t length = texts.empty() ? 0 : texts[0].size();
  if (size == 0) return WrongType(type);
  if (length % size != 0)
    return InvalidArgument("the length of the strings, {} bytes, is not a multiple of the size of {}", length,
                           DTypeName(type));
  Shape shape = in.shape();
  shape.push_back(static_cast<int64_t>(length / size));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, shape));
  std::byte* to = out.mutable_data();
  for (const auto& text : texts) {
    if (text.size() != length)
      return InvalidArgument(
          "DecodeRaw requires input strings to all be the same size, but one has {} bytes and another {}", length,
          text.size());
    std::memcpy(to, text.data(), length);
    to += length;
  }
  if (!call.attributes().Bool("little_endian", true)) SwapBytes(size, &out);
  return One(out);
}

bool IsCast(DType type) {
  return tensor::ElementBytes(type) > 0 && type != DType::kComplex64 && (kQuantized & Only(type)) == 0;
}

Status CheckCast(const graph::Node& node) {
  const DType from = node.attributes.Type("SrcT"), to = node.attributes.Type("DstT");
  if (!IsCast(to)) return Unimplemented("Cast to {}", DTypeName(to));
  if (from != DType::kInvalid && !IsCast(from)) return Unimplemented("Cast of {}", DTypeName(from));
  return {};
}

// Like DecodeRaw, but with a given length: longer strings are cut, and shorter ones are padded with zeros.
Outputs DecodePaddedRaw(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.type() != DType::kString) return WrongType(in.type());
  const DType type = call.attributes().Type("out_type");
  const auto size = static_cast<int64_t>(tensor::ElementBytes(type));
  ASSIGN_OR_RETURN(const int64_t length, IntOf(call.in(1), "fixed_length"));
  if (size == 0) return WrongType(type);
  if (call.in(1).rank() != 0) return InvalidArgument("fixed_length must be a scalar");
  if (length <= 0 || length % size != 0)
    return InvalidArgument("fixed_length {} is not a positive multiple of the size of {}", length, DTypeName(type));
  Shape shape = in.shape();
  shape.push_back(length / size);
  RETURN_IF_ERROR(call.HasRoomFor(type, shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, shape));
  std::byte* to = out.mutable_data();
  std::fill_n(to, out.bytes(), std::byte{0});
  for (const auto& text : in.values<std::string>()) {
    std::memcpy(to, text.data(), std::min(text.size(), static_cast<size_t>(length)));
    to += length;
  }
  if (!call.attributes().Bool("little_endian", true)) SwapBytes(static_cast<size_t>(size), &out);
  return One(out);
}

constexpr Kernel kKernels[] = {
    {.op = "Bitcast", .compute = Bitcast, .inputs_min = 1},
    {.op = "Cast", .compute = CastOf, .inputs_min = 1, .check = CheckCast},
    {.op = "DecodePaddedRaw", .compute = DecodePaddedRaw, .inputs_min = 2},
    {.op = "DecodeRaw", .compute = DecodeRaw, .inputs_min = 1},
};

}  // namespace

std::span<const Kernel> CastKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
