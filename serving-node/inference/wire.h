// The entries of the maps of tensors in PredictRequest and PredictResponse, in the wire format of Protocol Buffers.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "serving-node/engine/engine.h"
#include "serving-node/tensor/proto.h"

namespace longshore::inference {

// The tag of a field with a length, such as a string or a message.
constexpr uint32_t DelimitedTag(int field) { return static_cast<uint32_t>(field) << 3 | 2U; }

// One entry: a name, and where its TensorProto is.
struct TensorEntry {
  std::string name;
  size_t begin = 0;
  size_t size = 0;
};

// Reads the entry after its tag. Returns nullopt if it is not what serializers write: the name, then the tensor.
std::optional<TensorEntry> ReadEntry(google::protobuf::io::CodedInputStream* in);
// Reads a message or a string after its tag. Returns false if it is malformed; a string must be valid UTF-8.
bool ReadMessage(google::protobuf::io::CodedInputStream* in, google::protobuf::Message* message);
bool ReadText(google::protobuf::io::CodedInputStream* in, std::string* text);

// The error for bytes that are not a message of this type: "malformed PredictRequest (12 bytes)".
Error Malformed(const google::protobuf::MessageLite& message, size_t bytes);

// Appends the tensors as the entries of the map with this field number.
void AppendEntries(int field, const engine::TensorMap& tensors, tensor::Encoding encoding, PiecesBuilder* out);
void AppendText(int field, std::string_view text, std::string* out);
void AppendMessage(int field, const google::protobuf::MessageLite& message, std::string* out);

}  // namespace longshore::inference
