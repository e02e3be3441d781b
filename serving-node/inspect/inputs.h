// The inputs that a command line names: .npy files, or the JSON of a REST prediction.
#pragma once

#include "serving-node/engine/engine.h"
#include "serving-node/inspect/options.h"

namespace longshore::inspect {

struct Inputs {
  std::string signature;
  engine::TensorMap tensors;
};

// The one that the command line names, or serving_default.
std::string SignatureOf(const Options& options);

// InvalidArgument says which signatures there are.
Result<const tensorflow::SignatureDef*> FindSignature(const engine::LoadedModel& model, const std::string& name);

// InvalidArgument names the file, the input, and what was expected and given.
Result<Inputs> ReadInputs(const Options& options, const engine::LoadedModel& model);

}  // namespace longshore::inspect
