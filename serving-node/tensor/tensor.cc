#include "serving-node/tensor/tensor.h"

#include <numeric>

#include "common/base/lower_case.h"

namespace longshore::tensor {

std::string_view DTypeName(DType type) {
  switch (type) {
    case DType::kInvalid: return "DT_INVALID";
    case DType::kFloat: return "DT_FLOAT";
    case DType::kDouble: return "DT_DOUBLE";
    case DType::kInt32: return "DT_INT32";
    case DType::kUint8: return "DT_UINT8";
    case DType::kInt16: return "DT_INT16";
    case DType::kInt8: return "DT_INT8";
    case DType::kString: return "DT_STRING";
    case DType::kComplex64: return "DT_COMPLEX64";
    case DType::kInt64: return "DT_INT64";
    case DType::kBool: return "DT_BOOL";
    case DType::kQint8: return "DT_QINT8";
    case DType::kQuint8: return "DT_QUINT8";
    case DType::kQint32: return "DT_QINT32";
    case DType::kBfloat16: return "DT_BFLOAT16";
    case DType::kQint16: return "DT_QINT16";
    case DType::kQuint16: return "DT_QUINT16";
    case DType::kUint16: return "DT_UINT16";
    case DType::kHalf: return "DT_HALF";
    case DType::kResource: return "DT_RESOURCE";
    case DType::kVariant: return "DT_VARIANT";
    case DType::kUint32: return "DT_UINT32";
    case DType::kUint64: return "DT_UINT64";
  }
  return "UNKNOWN";
}

std::string ShortName(DType type) { return LowerCase(DTypeName(type).substr(3)); }  // Without "DT_".

size_t ElementBytes(DType type) {
  switch (type) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kQint8:
    case DType::kQuint8:
    case DType::kBool: return 1;
    case DType::kInt16:
    case DType::kQint16:
    case DType::kQuint16:
    case DType::kUint16:
    case DType::kHalf:
    case DType::kBfloat16: return 2;
    case DType::kFloat:
    case DType::kInt32:
    case DType::kQint32:
    case DType::kUint32: return 4;
    case DType::kDouble:
    case DType::kInt64:
    case DType::kUint64:
    case DType::kComplex64: return 8;
    default: return 0;
  }
}

std::string ToString(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

Result<int64_t> ElementCount(const Shape& shape) {
  if (shape.size() > kRankMax)
    return InvalidArgument("the shape has rank {}, but the limit is {}", shape.size(), kRankMax);
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) {
      return InvalidArgument("the shape {} has a negative size or too many elements", ToString(shape));
    }
  }
  return count;
}

Result<Tensor> Tensor::Make(DType type, Shape shape) {
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(shape));
  const bool is_string = type == DType::kString;
  const size_t element_bytes = is_string ? sizeof(std::string) : ElementBytes(type);
  if (element_bytes == 0) return InvalidArgument("a tensor cannot have the type {}", DTypeName(type));
  if (static_cast<size_t>(count) > kTensorBytesMax / element_bytes) {
    return ResourceExhausted("a tensor {}{} would need more than {} bytes", DTypeName(type), ToString(shape),
                             kTensorBytesMax);
  }
  Tensor made;
  made.type_ = type;
  made.shape_ = std::move(shape);
  made.elements_ = count;
  const auto size = static_cast<size_t>(count);
  if (is_string) {
    auto strings = std::make_shared<std::vector<std::string>>(size);
    made.data_ = reinterpret_cast<std::byte*>(strings->data());
    made.owner_ = std::move(strings);
  } else {
    static constexpr std::align_val_t kAlignment{64};
    auto* bytes = static_cast<std::byte*>(::operator new(std::max<size_t>(size * element_bytes, 1), kAlignment));
    made.data_ = bytes;
    made.owner_ =
        std::shared_ptr<const void>(bytes, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlignment); });
  }
  return made;
}

Tensor Tensor::Wrap(DType type, Shape shape, std::byte* data, std::shared_ptr<const void> owner, Device device) {
  const auto count = ElementCount(shape);
  CHECK(count.has_value());
  Tensor made;
  made.type_ = type;
  made.device_ = device;
  made.shape_ = std::move(shape);
  made.elements_ = *count;
  made.data_ = data;
  made.owner_ = std::move(owner);
  return made;
}

Result<Tensor> Tensor::Reshaped(Shape shape) const {
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(shape));
  if (count != elements_) {
    return InvalidArgument("a tensor of shape {} cannot become {}", ToString(shape_), ToString(shape));
  }
  Tensor same = *this;
  same.shape_ = std::move(shape);
  return same;
}

Tensor Tensor::Rows(int64_t begin, int64_t end) const {
  CHECK(rank() >= 1 && 0 <= begin && begin <= end && end <= dim(0));
  const int64_t row = dim(0) == 0 ? 0 : elements_ / dim(0);
  const size_t element_bytes = type_ == DType::kString ? sizeof(std::string) : ElementBytes(type_);
  Tensor part = *this;
  part.is_part_ = is_part_ || begin > 0 || end < dim(0);
  part.shape_[0] = end - begin;
  part.elements_ = row * (end - begin);
  part.data_ = data_ + static_cast<size_t>(row * begin) * element_bytes;
  return part;
}

}  // namespace longshore::tensor
