// Objects that two files of a host's folder of manifests define. A controller applies them from one of the files only,
// and never from the other, until a person changes one of the two.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "controller/api/parse.h"
#include "controller/store/local/manifest_files.h"

namespace longshore::cli::host {

// What a person can do about such an object.
inline constexpr const char* kDefinedTwiceRemedy = "remove the object from one of the two files";

// Returns another file than `file` that defines the object now; nullptr if no other file does. The result points into
// `files`. Pure.
const store::local::ManifestFile* OtherDefinition(const api::Key& key, const std::string& file,
                                                  const std::vector<store::local::ManifestFile>& files);

// "Model default/iris is already defined in iris.yaml".
std::string AlreadyDefined(const api::Key& key, const store::local::ManifestFile& other);

// Returns InvalidArgument if an object comes from a file of the folder `manifests` and another file there defines it
// too: if it were applied, users would get what no file in use says. Always OK if `manifests` is "", as for a cluster.
Status CheckDefinedOnce(const std::vector<api::ParsedObject>& objects, const Path& manifests);

}  // namespace longshore::cli::host
