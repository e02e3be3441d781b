// Queries that gRPC and REST have in common: status and metadata of models, and the outputs of a prediction. Error
// texts are TensorFlow Serving's.
#pragma once

#include <chrono>
#include <functional>

#include "common/base/error.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/routing/predict.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::frontend {

// Returns the outputs of an answer, which comes from this node or from a peer. Internal if the bytes from a peer are
// malformed.
Result<engine::TensorMap> OutputsOf(routing::PredictAnswer answer);

// Does the same as Catalog::Describe, or for versions that this node does not hold, the same as
// Catalog::DescribeElsewhere.
void DescribeAnywhere(const Catalog& catalog, const tensorflow::serving::ModelSpec& spec,
                      std::chrono::steady_clock::time_point deadline, const DescribeDone& done);

// Returns the status of the version that the spec names, or of all versions if the spec names a label or no version.
// For a model that this node does not know, does the same as Catalog::StatusElsewhere.
void GetStatus(const Catalog& catalog, const tensorflow::serving::ModelSpec& spec,
               std::chrono::steady_clock::time_point deadline, const StatusDone& done);

// Returns the signatures under the key "signature_def", the only supported metadata field. Calls `done` in the same way
// as DescribeAnywhere.
using MetadataDone = std::function<void(Result<tensorflow::serving::GetModelMetadataResponse>)>;
void GetMetadata(const Catalog& catalog, const tensorflow::serving::GetModelMetadataRequest& request,
                 std::chrono::steady_clock::time_point deadline, const MetadataDone& done);

tensorflow::serving::SignatureDefMap ToMap(const Signatures& signatures);

}  // namespace longshore::frontend
