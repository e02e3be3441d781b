// KServe InferenceServices (serving.kserve.io/v1beta1) of TensorFlow models as manifests: a Model for each, and a
// fleet.
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
// Each gets a fleet of its name, as it had pods of its own; with a fleet in the target all of a namespace share that
// one.
#pragma once

#include <vector>

#include "controller/cli/import/imported.h"

namespace longshore::cli {

// Also takes a List of them, as `kubectl get -o yaml` prints it; what the API server wrote itself is left out.
// InvalidArgument naming file, line and field for what is unknown, or cannot be served.
Result<Imported> ImportKserve(const std::vector<ImportFile>& files, const ImportTarget& target);

}  // namespace longshore::cli
