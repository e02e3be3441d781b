// Finds the folders of versions under the base path of a model.
//
// TensorFlow Serving's layout: every child of the base path whose name is a number is a version ("00000123" is 123).
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::version_files {

// Returns the versions in ascending order; NotFound if the directory does not exist.
Result<std::vector<int64_t>> ListVersions(const Path& base_path);

// Returns FailedPrecondition, with the folder to give instead, if this is no base path but the folder of a version: it
// contains saved_model.pb.
Status CheckBasePath(const Path& base_path);

// Returns the directory of a version: <base>/<version>, or a child whose name has leading zeros; NotFound if neither
// exists, with the message of CheckBasePath if that is the reason.
Result<Path> FindVersionDir(const Path& base_path, int64_t version);

}  // namespace longshore::version_files
