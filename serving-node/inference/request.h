// A prediction that a client asks for, independent of the protocol that the client uses.
//
// A frontend that reads a format of its own (JSON, the Open Inference Protocol) makes a Request of tensors. The
// frontend of PredictionService makes one of the bytes of a PredictRequest: they are decoded when the request runs on
// this node, and are sent as they are when it is forwarded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "serving-node/engine/engine.h"
#include "serving-node/inference/wire.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::inference {

// Copies share the tensors and the bytes. Thread-safe for reading.
class Request {
 public:
  Request() = default;

  // `outputs` are the names of the outputs to compute; if it is empty, these are all outputs of the signature.
  Request(tensorflow::serving::ModelSpec spec, engine::TensorMap inputs, std::vector<std::string> outputs = {});

  // Reads the bytes of a PredictRequest, and decodes all but the tensors, which ReadInputs checks. InvalidArgument if
  // the rest is not a PredictRequest.
  static Result<Request> Parse(Pieces bytes);
  // For messages that are in memory already, such as those of a warm-up file. InvalidArgument if a name is not valid
  // UTF-8.
  static Result<Request> Parse(const tensorflow::serving::PredictRequest& message);

  bool has_model_spec() const { return has_spec_; }
  const tensorflow::serving::ModelSpec& model_spec() const { return spec_; }
  // Requires: the request was made of tensors.
  tensorflow::serving::ModelSpec* mutable_model_spec();
  const std::vector<std::string>& outputs() const { return outputs_; }
  // Requires: as for mutable_model_spec.
  void AddOutput(std::string name);

  // The names of the inputs in ascending order.
  std::vector<std::string_view> input_names() const;

  size_t input_count() const { return entries_.size() + inputs_.size(); }
  // Whether the request has an input of this name.
  bool HasInput(std::string_view name) const;

  // Returns the inputs. ResourceExhausted if they have more than elements_max elements together, which is checked
  // before memory is allocated; InvalidArgument if a tensor is malformed or if it repeats its last value and thus fills
  // more than filled_bytes_max bytes.
  Result<engine::TensorMap> ReadInputs(int64_t elements_max, size_t filled_bytes_max) const;

  // Returns the same request without memory that it shares with its call: a few bytes that gRPC received may keep a
  // larger buffer alive. For requests that outlive their call.
  Request Detached() const;

  // The memory of the inputs in bytes.
  size_t bytes() const;

  // Returns the request as the bytes of a PredictRequest.
  Pieces ToPieces() const;

 private:
  enum class OtherFields { kFail, kSkip };
  bool ReadFields(OtherFields others);
  bool ReadField(google::protobuf::io::CodedInputStream* in, uint32_t tag, OtherFields others);

  bool has_spec_ = false;
  tensorflow::serving::ModelSpec spec_;
  std::vector<std::string> outputs_;
  engine::TensorMap inputs_;          // Empty if bytes_ has the inputs.
  Pieces bytes_;                      // Empty if the request was made of tensors.
  std::vector<TensorEntry> entries_;  // The inputs in bytes_, in ascending order of their names.
};

}  // namespace longshore::inference
