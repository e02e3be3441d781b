#include "serving-node/engine/kernels/base/kernel.h"

#include <algorithm>
#include <limits>

namespace longshore::engine::kernels {
size_t Call::LeftBytes() const {
  const size_t taken = tables == nullptr ? 0 : tables->bytes();
  return taken < room_bytes ? room_bytes - taken : 0;
}

namespace {

// Returns the product of the sizes, with zeros counted as one; SIZE_MAX if the product does not fit into 64 bits.
size_t PlacesIn(const Shape& shape) {
  size_t places = 1;
  for (const int64_t size : shape) {
    if (size > 1 && __builtin_mul_overflow(places, static_cast<size_t>(size), &places))
      return std::numeric_limits<size_t>::max();
  }
  return places;
}

}  // namespace

Status Call::HasRoomFor(DType type, const Shape& shape) const {
  ASSIGN_OR_RETURN(const int64_t count, tensor::ElementCount(shape));
  if (count == 0) {
    if (PlacesIn(shape) <= std::max(LeftBytes(), kEmptyBytesMin) / sizeof(int64_t)) return {};
    return ResourceExhausted(
        "a tensor {}{} does not fit into the {} bytes that are left of the run's memory, although it is empty: each "
        "size of zero counts as one",
        DTypeName(type), ToString(shape), LeftBytes());
  }
  const size_t element_bytes = type == DType::kString ? sizeof(std::string) : tensor::ElementBytes(type);
  if (element_bytes == 0 || static_cast<size_t>(count) <= LeftBytes() / element_bytes) return {};
  return ResourceExhausted("a tensor {}{} does not fit into the {} bytes that are left of the run's memory",
                           DTypeName(type), ToString(shape), LeftBytes());
}

Status Call::CheckEmptyInputs() const {
  for (const Tensor& input : inputs) {
    if (input.elements() == 0) RETURN_IF_ERROR(HasRoomFor(input.type(), input.shape()));
  }
  return {};
}

Outputs RunKernel(const Kernel& kernel, const Call& call) {
  RETURN_IF_ERROR(call.CheckEmptyInputs());
  auto made = kernel.compute(call);
  if (made && HeldBytes(*made) > call.LeftBytes()) {
    return ResourceExhausted("the outputs need {} bytes, but only {} bytes are left of the run's memory",
                             HeldBytes(*made), call.LeftBytes());
  }
  return made;
}

Result<std::vector<int64_t>> IntsOf(const Tensor& tensor, std::string_view what, size_t count_max) {
  if (tensor.rank() > 1)
    return InvalidArgument("{} must be a scalar or a vector, not of shape {}", what, ToString(tensor.shape()));
  if (static_cast<size_t>(tensor.elements()) > count_max) {
    return InvalidArgument("{} has {} values; the limit is {}", what, tensor.elements(), count_max);
  }
  if (tensor.type() == DType::kInt32)
    return std::vector<int64_t>(tensor.values<int32_t>().begin(), tensor.values<int32_t>().end());
  if (tensor.type() == DType::kInt64)
    return std::vector<int64_t>(tensor.values<int64_t>().begin(), tensor.values<int64_t>().end());
  return InvalidArgument("{} must be of DT_INT32 or DT_INT64, not {}", what, DTypeName(tensor.type()));
}

Result<int64_t> IntOf(const Tensor& tensor, std::string_view what) {
  ASSIGN_OR_RETURN(const auto values, IntsOf(tensor, what));
  if (values.size() != 1) return InvalidArgument("{} must be one value, but has {} values", what, values.size());
  return values[0];
}

Result<int> AxisOf(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return InvalidArgument("axis {} is out of range for rank {}", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Result<Tensor> MakeLike(const Tensor& like, Shape shape) { return Tensor::Make(like.type(), std::move(shape)); }

int64_t Product(const Shape& shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) product *= shape[i];
  return product;
}

}  // namespace longshore::engine::kernels
