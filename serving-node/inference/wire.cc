#include "serving-node/inference/wire.h"

#include <climits>

#include "common/base/text.h"
#include "common/binary_proto/binary_proto.h"
#include "serving-node/tensor/wire.h"

namespace longshore::inference {
namespace {

using google::protobuf::io::CodedInputStream;
using tensor::AppendVarint;
using tensor::VarintBytes;

// The fields of an entry of a map (https://protobuf.dev/programming-guides/encoding/#maps).
constexpr int kKey = 1;
constexpr int kValue = 2;

bool ReadSize(CodedInputStream* in, int* size) {
  uint32_t read = 0;
  if (!in->ReadVarint32(&read) || read > INT_MAX) return false;
  *size = static_cast<int>(read);
  return true;
}

}  // namespace

std::optional<TensorEntry> ReadEntry(CodedInputStream* in) {
  TensorEntry entry;
  int size = 0;
  int value_size = 0;
  if (!ReadSize(in, &size)) return std::nullopt;
  const int begin = in->CurrentPosition();
  if (in->ReadTag() != DelimitedTag(kKey) || !ReadText(in, &entry.name)) return std::nullopt;
  if (in->ReadTag() != DelimitedTag(kValue) || !ReadSize(in, &value_size)) return std::nullopt;
  entry.begin = static_cast<size_t>(in->CurrentPosition());
  entry.size = static_cast<size_t>(value_size);
  if (entry.begin + entry.size != static_cast<size_t>(begin) + static_cast<size_t>(size)) return std::nullopt;
  if (!in->Skip(value_size)) return std::nullopt;
  return entry;
}

bool ReadMessage(CodedInputStream* in, google::protobuf::Message* message) {
  int size = 0;
  if (!ReadSize(in, &size)) return false;
  std::string bytes;
  return in->ReadString(&bytes, size) && ParseBinaryProto(bytes, message);
}

bool ReadText(CodedInputStream* in, std::string* text) {
  int size = 0;
  return ReadSize(in, &size) && in->ReadString(text, size) && IsUtf8(*text);
}

Error Malformed(const google::protobuf::MessageLite& message, size_t bytes) {
  const std::string type = message.GetTypeName();
  return {Code::kInvalidArgument, fmt::format("malformed {} ({} bytes)", type.substr(type.rfind('.') + 1), bytes)};
}

void AppendEntries(int field, const engine::TensorMap& tensors, tensor::Encoding encoding, PiecesBuilder* out) {
  for (const auto& [name, values] : tensors) {
    const size_t value_bytes = WireBytes(values, encoding);
    const size_t bytes = 2 + VarintBytes(name.size()) + name.size() + VarintBytes(value_bytes) + value_bytes;
    AppendVarint(DelimitedTag(field), &out->copied());
    AppendVarint(bytes, &out->copied());
    AppendText(kKey, name, &out->copied());
    AppendVarint(DelimitedTag(kValue), &out->copied());
    AppendVarint(value_bytes, &out->copied());
    AppendTo(values, encoding, out);
  }
}

void AppendText(int field, std::string_view text, std::string* out) {
  AppendVarint(DelimitedTag(field), out);
  AppendVarint(text.size(), out);
  *out += text;
}

void AppendMessage(int field, const google::protobuf::MessageLite& message, std::string* out) {
  const size_t bytes = message.ByteSizeLong();
  AppendVarint(DelimitedTag(field), out);
  AppendVarint(bytes, out);
  out->resize(out->size() + bytes);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(out->data() + out->size() - bytes));
}

}  // namespace longshore::inference
