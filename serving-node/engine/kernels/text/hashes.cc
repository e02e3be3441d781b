// Hashes of strings. They must equal TensorFlow's to the last bit, because models are trained on the resulting buckets.
#include <farmhash.h>
#include <highwayhash/c_bindings.h>

#include <array>
#include <cstring>

#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels::text {
namespace {

uint64_t FarmHash(const std::string& text) { return util::Fingerprint64(text.data(), text.size()); }

// MurmurHash64A with the seed that TensorFlow uses for StringToHashBucket.
uint64_t MurmurHash(const std::string& text) {
  constexpr uint64_t kSeed = 0xDECAFCAFFE, kFactor = 0xc6a4a7935bd1e995;
  const auto mixed = [](uint64_t word) { return word ^ (word >> 47); };
  uint64_t hash = kSeed ^ (text.size() * kFactor);
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    hash = (hash ^ (mixed(word * kFactor) * kFactor)) * kFactor;
  }
  if (at < text.size()) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, text.size() - at);
    hash = (hash ^ word) * kFactor;
  }
  return mixed(mixed(hash) * kFactor);
}

template <typename Hash>
Outputs ToBuckets(const Call& call, Hash hash) {
  RETURN_IF_ERROR(CheckText(call, 0));
  const auto buckets = static_cast<uint64_t>(call.attributes().Int("num_buckets", 1));
  return UnaryOf<std::string, int64_t>(
      call, [&](const std::string& text) { return static_cast<int64_t>(hash(text) % buckets); });
}

Outputs Fast(const Call& call) { return ToBuckets(call, FarmHash); }
Outputs First(const Call& call) { return ToBuckets(call, MurmurHash); }
Outputs Strong(const Call& call) {
  const auto key = call.attributes().Ints("key");
  const std::array words = {static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1])};
  return ToBuckets(call, [&](const std::string& text) { return SipHashC(words.data(), text.data(), text.size()); });
}

Status CheckBuckets(const graph::Node& node) {
  if (node.attributes.Int("num_buckets", 0) < 1) return Unimplemented("{} with num_buckets below 1", node.op);
  return {};
}

Status CheckKey(const graph::Node& node) {
  RETURN_IF_ERROR(CheckBuckets(node));
  if (node.attributes.Ints("key").size() != 2) return Unimplemented("{} with a key that is not two numbers", node.op);
  return {};
}

// Writes the bytes of a hash, the lowest first.
void Write(uint64_t hash, uint8_t* to) {
  for (int i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(hash >> (8 * i));
}

// Returns the bytes of a row that Fingerprint hashes: those of its numbers or of its string. If the row has several
// strings, they are the bytes of the strings' hashes.
std::string HashedBytes(const Tensor& data, int64_t row, int64_t row_elements) {
  if (data.type() != DType::kString) {
    const auto row_bytes = static_cast<size_t>(row_elements) * tensor::ElementBytes(data.type());
    return {reinterpret_cast<const char*>(data.data()) + static_cast<size_t>(row) * row_bytes, row_bytes};
  }
  const auto* texts = Raw<std::string>(data) + row * row_elements;
  if (data.rank() == 1) return texts[0];
  std::string bytes(static_cast<size_t>(row_elements) * 8, '\0');
  for (int64_t i = 0; i < row_elements; ++i)
    Write(FarmHash(texts[i]), reinterpret_cast<uint8_t*>(&bytes[static_cast<size_t>(i) * 8]));
  return bytes;
}

Outputs Fingerprint(const Call& call) {
  const Tensor& data = call.in(0);
  ASSIGN_OR_RETURN(const std::string method, TextOf(call, 1, "method"));
  if (method != "farmhash64") return InvalidArgument("Unsupported fingerprint method: {}", method);
  if (data.rank() < 1) return InvalidArgument("data must have a first dimension");
  if (data.type() != DType::kString && tensor::ElementBytes(data.type()) == 0) return WrongType(data.type());
  RETURN_IF_ERROR(call.HasRoomFor(DType::kUint8, {data.dim(0), 8}));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kUint8, {data.dim(0), 8}));
  for (int64_t row = 0; row < data.dim(0); ++row)
    Write(FarmHash(HashedBytes(data, row, data.elements() / data.dim(0))), Raw<uint8_t>(out) + 8 * row);
  return One(out);
}

constexpr Kernel kKernels[] = {
    {.op = "Fingerprint", .compute = Fingerprint, .inputs_min = 2},
    {.op = "StringToHashBucket", .compute = First, .inputs_min = 1, .check = CheckBuckets},
    {.op = "StringToHashBucketFast", .compute = Fast, .inputs_min = 1, .check = CheckBuckets},
    {.op = "StringToHashBucketStrong", .compute = Strong, .inputs_min = 1, .check = CheckKey},
};

}  // namespace

std::span<const Kernel> HashKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text
