// Changes the version of a Model in the text of a manifest file, and nothing else: comments and layout stay.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "controller/api/types.h"

namespace longshore::cli::input {

// Returns the text with `spec.version: version` for the Model: replaces the number or `versionPolicy: Latest`, or adds
// the line after `spec:` if the Model has neither. Returns FailedPrecondition, which says which line to edit by hand,
// if the layout does not allow this. Parses the result again, so nothing but this version can have changed.
// `namespace_` is the namespace of documents that name none.
Result<std::string> WithVersion(const std::string& file, const std::string& text, const api::Key& model,
                                int64_t version, const std::string& namespace_);

}  // namespace longshore::cli::input
