// Reads the inputs given on the command line: .npy files, or the JSON of a REST prediction.
#pragma once

#include "serving-node/engine/engine.h"
#include "serving-node/inspect/options.h"

namespace longshore::inspect {

struct Inputs {
  std::string signature;
  engine::TensorMap tensors;
};

// The signature given on the command line, or serving_default.
std::string SignatureOf(const Options& options);

// InvalidArgument, with the names of the existing signatures, if the model has no such signature.
Result<const tensorflow::SignatureDef*> FindSignature(const engine::LoadedModel& model, const std::string& name);

// InvalidArgument if an input has the wrong name, type or shape: the message names the file, the input, and the
// expected and the given type and shape.
Result<Inputs> ReadInputs(const Options& options, const engine::LoadedModel& model);

}  // namespace longshore::inspect
