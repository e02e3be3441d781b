// Converts TensorFlow Serving's configuration files to manifests: one fleet, and a Model for each model.
//
//   model_config_list {                        kind: Model
//     config {                                 metadata: {name: my-digits}
//       name: "my_digits"                      spec:
//       base_path: "/models/digits"              fleet: main
//       model_platform: "tensorflow"             servedName: my_digits
//       version_labels {                         source: {uri: file:///models/digits}
//         key: "stable" value: 3                 versionPolicy: Latest
//       }                                        labels: {stable: 3}
//     }                                          rollout: {strategy: Immediate}
//   }
//
// A new version replaces the old one immediately, as in TensorFlow Serving: `strategy: Immediate`.
#pragma once

#include <optional>
#include <vector>

#include "controller/cli/imports/imported.h"

namespace longshore::cli::imports {

struct TfServingFiles {
  std::vector<ImportFile> models;        // --model_config_file
  std::optional<ImportFile> batching;    // --batching_parameters_file
  std::optional<ImportFile> monitoring;  // --monitoring_config_file
};

// The default name of the fleet is "main". Returns InvalidArgument, which names file and line, for an unknown field and
// for a model that cannot be served.
Result<Imported> ImportTfServing(const TfServingFiles& files, const ImportTarget& target);

}  // namespace longshore::cli::imports
