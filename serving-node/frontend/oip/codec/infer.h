// An inference request and its answer, as both forms of the Open Inference Protocol have them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "serving-node/engine/engine.h"

namespace longshore::frontend::oip::codec {

struct RequestedOutput {
  std::string name;
  int64_t classes = 0;  // Above 0: the answer has this many of the highest values instead of the tensor.
  std::optional<bool> binary_data = {};  // REST: whether the tensor follows the JSON as bytes.
};

struct InferRequest {
  std::string model;
  std::string version;  // A number or a label; "" if the client leaves the choice to the node.
  std::string id;       // The answer has the same one.
  std::string signature;
  engine::TensorMap inputs;
  std::vector<RequestedOutput> outputs;  // Empty: all.
  bool binary_data_output = false;       // REST: the default of RequestedOutput::binary_data.
  std::optional<uint64_t> priority;      // 1 is the highest; 0 and nullopt are the default.
  std::chrono::microseconds timeout{0};  // 0: none.
};

// The parameter by which a request in a stream asks for a mark on the last answer to it.
inline constexpr std::string_view kEmptyFinalResponse = "triton_enable_empty_final_response";

// The value of a parameter of a request.
using Parameter = std::variant<bool, int64_t, uint64_t, double, std::string>;

// Applies a parameter of a request. Parameters that the node does not know are ignored, as in Triton. InvalidArgument
// for a value of a wrong type, for sequences, and for names that begin with "triton_", which are reserved.
Status SetParameter(const std::string& name, const Parameter& value, InferRequest* request);

// Applies a parameter of a requested output. InvalidArgument for a value of a wrong type and for shared memory.
Status SetParameter(const std::string& name, const Parameter& value, RequestedOutput* output);

// The error for a tensor in shared memory.
tl::unexpected<Error> NoSharedMemory(std::string_view tensor);

// How many inputs and how many outputs a request may name.
inline constexpr size_t kTensorsMax = 10000;

// Adds an input. InvalidArgument if the request already has one with this name, or has kTensorsMax inputs.
Status AddInput(const std::string& name, tensor::Tensor values, InferRequest* request);
// Adds an output. InvalidArgument if the request has kTensorsMax outputs.
Status AddOutput(RequestedOutput output, InferRequest* request);

// One tensor of an answer.
struct InferOutput {
  std::string name;
  tensor::Tensor values;
  bool binary_data = false;
};

struct InferAnswer {
  std::string model;
  std::string version;
  std::string id;
  std::vector<InferOutput> outputs;
};

// How many classes all outputs of an answer may have together. Each takes about 40 bytes.
inline constexpr int64_t kClassesMax = int64_t{1} << 20;

// Returns the answer to the request. The outputs are in the order in which the request names them, or in the order of
// their names. An output that the request names twice is in the answer once, as in Triton. ResourceExhausted above
// kClassesMax; InvalidArgument if an output cannot be classified or has a type that the protocol does not have;
// Internal if the outputs lack one that the request names.
Result<InferAnswer> AnswerTo(const InferRequest& request, int64_t version, engine::TensorMap outputs);

}  // namespace longshore::frontend::oip::codec
