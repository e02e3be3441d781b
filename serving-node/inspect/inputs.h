// The inputs that a command line names: .npy files, or the JSON of a REST prediction.
#pragma once

#include "serving-node/engine/engine.h"
#include "serving-node/inspect/options.h"

namespace longshore::inspect {

struct Inputs {
  std::string signature;
  engine::TensorMap tensors;
};

// InvalidArgument names the file, the input, and what was expected and given.
Result<Inputs> ReadInputs(const Options& options, const engine::LoadedModel& model);

}  // namespace longshore::inspect
