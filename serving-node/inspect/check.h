// The command `longshore model check`: checks whether a model can run on this engine, and measures a run.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "serving-node/engine/engine.h"
#include "serving-node/inspect/op_count.h"

namespace longshore::inspect {

// One run of a signature with one row of zeros.
struct RowRun {
  engine::RunProfile profile;
  std::chrono::nanoseconds took{0};
  std::optional<engine::NonFinite> non_finite = {};  // Set if an output has a NaN or Inf.
};

struct CheckResult {
  Path dir;
  std::vector<OpCount> ops;
  std::vector<engine::UnsupportedOp> unsupported;
  std::optional<Error> refusal;  // Why the model does not load; nullopt: it loads.
  std::chrono::nanoseconds load_took{0};
  int64_t stored_bytes = 0;
  int64_t memory_bytes = 0;  // The memory of the loaded model.
  // The measured run of each signature. A run that fails with zeros may succeed with real inputs.
  std::map<std::string, Result<RowRun>> rows;
  std::vector<std::string> advice;

  bool is_supported() const { return !refusal; }
};

// Loads the model, runs each signature twice, and measures the second run. Empty tags mean {"serve"}. Errors: NotFound
// or DataLoss if the directory is not a readable SavedModel. All other problems are part of the result.
Result<CheckResult> CheckModel(engine::Engine& engine, const Path& version_dir, std::vector<std::string> tags);

std::string ToText(const CheckResult& result, bool list_ops);

// Advice for faster runs: one sentence for each input dimension of unknown size, except for the batch dimension.
std::vector<std::string> Advice(const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures);

}  // namespace longshore::inspect
