// A summary of a SavedModel: the data that `longshore model show` prints.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/tensor/tensor.h"
#include "tensorflow/fingerprint.pb.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::inspect {

struct TensorSummary {
  std::string tensor;  // The name, "serving_default_x:0"; "" for a sparse or composite tensor.
  tensor::DType type = tensor::DType::kInvalid;
  std::optional<tensor::Shape> pattern;         // nullopt: any rank; -1: any size.
  std::optional<tensor::Tensor> default_value;  // Set for inputs that a request may leave out.
};

struct SignatureSummary {
  std::map<std::string, TensorSummary> inputs;
  std::map<std::string, TensorSummary> outputs;
  std::string method;
};

// The graph of one tag set.
struct GraphSummary {
  std::vector<std::string> tags;
  std::string tensorflow_version;  // The version of TensorFlow that wrote the graph.
  std::map<std::string, SignatureSummary> signatures;
  int nodes = 0;
  int functions = 0;
  int function_nodes = 0;
  std::vector<std::string> assets;  // File names.
};

struct Summary {
  Path dir;
  std::vector<GraphSummary> graphs;
  int variables = 0;
  int64_t variables_bytes = 0;
  std::optional<tensorflow::FingerprintDef> fingerprint;
};

// Summarizes the graph with these tags; without tags, all graphs. Errors as for saved_model::ReadSavedModel and
// Bundle::Open.
Result<Summary> Summarize(const Path& version_dir, const std::vector<std::string>& tags);

}  // namespace longshore::inspect
