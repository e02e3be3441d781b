// Converts KServe InferenceServices (serving.kserve.io/v1beta1) of TensorFlow models to manifests: each becomes a Model
// and a fleet.
//
//   kind: InferenceService                   kind: ServingFleet
//   metadata: {name: digits}                 metadata: {name: digits}
//   spec:                                    spec:
//     predictor:                               replicas: {min: 2, max: 4}
//       minReplicas: 2                         autoscaling: {}
//       maxReplicas: 4                         modelVolumes: [{name: models, mountPath: /pvc/models, ...}]
//       model:                               ---
//         modelFormat: {name: tensorflow}    kind: Model
//         storageUri: pvc://models/digits    metadata: {name: digits}
//                                            spec: {fleet: digits, source: {uri: file:///pvc/models/digits}, ...}
//
// Each service gets a fleet with its name, because in KServe each service has its own pods. If the target names a
// fleet, all services of a namespace share that fleet.
#pragma once

#include <vector>

#include "controller/cli/imports/imported.h"

namespace longshore::cli::imports {

// Accepts single InferenceServices and Lists of them, as `kubectl get -o yaml` prints them. Ignores fields that the API
// server writes. Returns InvalidArgument, which names file, line and field, for an unknown field and for a model that
// cannot be served.
Result<Imported> ImportKserve(const std::vector<ImportFile>& files, const ImportTarget& target);

}  // namespace longshore::cli::imports
