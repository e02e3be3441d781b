// Status and metadata of models: the same answers for gRPC and REST. Error texts are TensorFlow Serving's.
#pragma once

#include "common/error.h"
#include "serving-node/frontend/catalog.h"
#include "tensorflow_serving/services.pb.h"

namespace longshore::frontend {

// One version when the spec names one, all of them otherwise, also for a label.
Result<tensorflow::serving::GetModelStatusResponse> GetStatus(const Catalog& catalog,
                                                              const tensorflow::serving::ModelSpec& spec);

// The signatures under the key "signature_def", the only field that can be asked for.
Result<tensorflow::serving::GetModelMetadataResponse> GetMetadata(
    const Catalog& catalog, const tensorflow::serving::GetModelMetadataRequest& request);

tensorflow::serving::SignatureDefMap ToMap(const Signatures& signatures);

}  // namespace longshore::frontend
