// What a model looks like: its metadata and its configuration, from the signature of a SavedModel.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "inference/service.pb.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/oip/codec/raw.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::frontend::oip {

// The platform of all models: Triton's name for a SavedModel of TensorFlow.
inline constexpr const char* kPlatform = "tensorflow_savedmodel";

// A model, its signature "serving_default", and the versions that are ready, in ascending order.
struct ModelView {
  std::string name;
  std::vector<int64_t> versions;
  const tensorflow::SignatureDef& signature;
};

// Returns the signature that requests get if they name none. FailedPrecondition if the model has no such signature.
Result<const tensorflow::SignatureDef*> DefaultSignature(const Signatures& signatures);

// Returns the input of a signature that has no other one, with a pattern as its shape. InvalidArgument if it has
// several or none, or if its type or its rank is not known.
Result<codec::InputHead> OnlyInput(const std::string& model, const tensorflow::SignatureDef& signature);

// Inputs and outputs are in the order of their names. -1 stands for a dimension of unknown size. The shape is empty if
// the rank is unknown, and the datatype is "" if the protocol does not have the type.
::inference::ModelMetadataResponse ToMetadata(const ModelView& model);

// The configuration has the same shapes as the metadata: max_batch_size is 0, so they include the batch dimension.
::inference::ModelConfig ToConfig(const ModelView& model);

// The extensions that this server really has are in the list of extensions.
::inference::ServerMetadataResponse ServerMetadata(const std::string& software_version);

}  // namespace longshore::frontend::oip
