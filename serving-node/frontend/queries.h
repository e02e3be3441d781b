// What gRPC and REST answer alike: status and metadata of models, and the outputs of a prediction. Error texts are
// TensorFlow Serving's.
#pragma once

#include <chrono>
#include <functional>

#include "common/error.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/routing/predict.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::frontend {

// The outputs of an answer, whoever gave it. Internal when a peer's bytes are no answer.
Result<engine::TensorMap> OutputsOf(routing::PredictAnswer answer);

// As Catalog::Describe; for what this node does not hold, as Catalog::DescribeElsewhere.
void DescribeAnywhere(const Catalog& catalog, const tensorflow::serving::ModelSpec& spec,
                      std::chrono::steady_clock::time_point deadline, const DescribeDone& done);

// One version when the spec names one, all of them otherwise, also for a label. Of a model that this node knows nothing
// of, as Catalog::StatusElsewhere.
void GetStatus(const Catalog& catalog, const tensorflow::serving::ModelSpec& spec,
               std::chrono::steady_clock::time_point deadline, const StatusDone& done);

// The signatures under the key "signature_def", the only field that can be asked for. Calls back as DescribeAnywhere.
using MetadataDone = std::function<void(Result<tensorflow::serving::GetModelMetadataResponse>)>;
void GetMetadata(const Catalog& catalog, const tensorflow::serving::GetModelMetadataRequest& request,
                 std::chrono::steady_clock::time_point deadline, const MetadataDone& done);

tensorflow::serving::SignatureDefMap ToMap(const Signatures& signatures);

}  // namespace longshore::frontend
