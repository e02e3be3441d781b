// A version directory as TensorFlow writes it: saved_model.pb, variables/, assets/.
#pragma once

#include <string>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::saved_model {

inline constexpr size_t kSavedModelBytesMax = size_t{2} << 30;

// All of saved_model.pb, assets in their field wherever the file has them. NotFound when it is not there; DataLoss when
// it cannot be parsed; Unimplemented for saved_model.pbtxt.
Result<tensorflow::SavedModel> ReadSavedModel(const Path& version_dir);

// The MetaGraphDef whose tags are exactly these. NotFound when there is no saved_model.pb or no such tags (the message
// lists those that exist); DataLoss when the file cannot be parsed; Unimplemented for saved_model.pbtxt and
// saved_model.cpb.
Result<tensorflow::MetaGraphDef> ReadMetaGraph(const Path& version_dir, const std::vector<std::string>& tags);

// Where the variables lie: the prefix for Bundle::Open.
Path VariablesPrefix(const Path& version_dir);

// The asset's path below version_dir/assets. NotFound when the file is not there; DataLoss when the name leaves the
// folder.
Result<Path> AssetPath(const Path& version_dir, const tensorflow::AssetFileDef& asset);

}  // namespace longshore::saved_model
