// Reads a version directory as TensorFlow writes it: saved_model.pb, variables/, assets/.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "tensorflow/saved_model.pb.h"

namespace longshore::saved_model {

inline constexpr size_t kSavedModelBytesMax = size_t{2} << 30;

// Reads saved_model.pb. Assets are in the field asset_file_def, even if the file has them in a collection. NotFound if
// the file does not exist; DataLoss if it cannot be parsed; Unimplemented if there is saved_model.pbtxt or
// saved_model.cpb instead.
Result<tensorflow::SavedModel> ReadSavedModel(const Path& version_dir);

// Reads the MetaGraphDef with exactly these tags. NotFound if there is no saved_model.pb or no graph with these tags
// (the message lists the existing ones); other errors like ReadSavedModel.
Result<tensorflow::MetaGraphDef> ReadMetaGraph(const Path& version_dir, const std::vector<std::string>& tags);

// The path of the variables without ".index", as Bundle::Open needs it.
Path VariablesPrefix(const Path& version_dir);

// The path of the asset below version_dir/assets. The file need not exist: as in TensorFlow, only an op that reads it
// needs it. DataLoss if the name leads outside that folder.
Result<Path> AssetPath(const Path& version_dir, const tensorflow::AssetFileDef& asset);

}  // namespace longshore::saved_model
