// Whether a model runs here, and what that takes: what `longshore model check` prints.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "serving-node/engine/engine.h"
#include "serving-node/inspect/census.h"

namespace longshore::inspect {

// One run of a signature with one row of zeros.
struct RowRun {
  engine::RunProfile profile;
  std::chrono::nanoseconds took{0};
};

struct Verdict {
  Path dir;
  std::vector<OpCount> ops;
  std::vector<engine::UnsupportedOp> unsupported;
  std::optional<Error> refusal;  // Why it does not load, ops or another reason; nullopt: it does.
  std::chrono::nanoseconds load_took{0};
  int64_t stored_bytes = 0;
  int64_t memory_bytes = 0;  // Of the loaded model.
  std::map<std::string, Result<RowRun>>
      rows;  // By signature. A run that fails with zeros may succeed with real inputs.
  std::vector<std::string> advice;

  bool is_supported() const { return !refusal; }
};

// Loads the model and runs it. Without tags: {"serve"}. NotFound and DataLoss when there is no SavedModel to look at;
// whatever else stands in the way is the verdict.
Result<Verdict> Examine(engine::Engine& engine, const Path& version_dir, std::vector<std::string> tags);

std::string ToText(const Verdict& verdict, bool list_ops);

// What would make runs of these inputs quicker: one sentence for each size that is open and not the batch.
std::vector<std::string> Advice(const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures);

}  // namespace longshore::inspect
