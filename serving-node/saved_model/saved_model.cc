#include "serving-node/saved_model/saved_model.h"

#include <algorithm>
#include <set>

#include "common/os/file.h"

namespace longshore::saved_model {
namespace {

std::string TagsText(const std::set<std::string>& tags) { return fmt::format("[{}]", fmt::join(tags, ", ")); }

Result<std::string> ReadSavedModelBytes(const Path& version_dir) {
  const Path file = version_dir / "saved_model.pb";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    if (std::filesystem::exists(version_dir / "saved_model.pbtxt", error)) {
      return Unimplemented("{} has saved_model.pbtxt; only the binary saved_model.pb is supported",
                           version_dir.string());
    }
    if (std::filesystem::exists(version_dir / "saved_model.cpb", error)) {
      return Unimplemented(
          "{} has saved_model.cpb, the chunked format for models above 2 GB; only saved_model.pb is supported: "
          "export again without experimental_image_format, with the weights in variables",
          version_dir.string());
    }
    return NotFound("no saved_model.pb in {}", version_dir.string());
  }
  return ReadFile(file, kSavedModelBytesMax);
}

// TensorFlow 1 stores assets in a collection, as Any messages; later versions store them in a field, which takes
// precedence. Copies the collection into the field if the field is empty.
void TakeAssetsOfCollection(tensorflow::MetaGraphDef* graph) {
  const auto collection = graph->collection_def().find("saved_model_assets");
  if (graph->asset_file_def_size() > 0 || collection == graph->collection_def().end()) return;
  for (const auto& any : collection->second.any_list().value()) {
    tensorflow::AssetFileDef asset;
    if (any.UnpackTo(&asset)) *graph->add_asset_file_def() = std::move(asset);
  }
}

}  // namespace

Result<tensorflow::SavedModel> ReadSavedModel(const Path& version_dir) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadSavedModelBytes(version_dir));
  tensorflow::SavedModel model;
  if (bytes.empty() || !model.ParseFromString(bytes))
    return DataLoss("{} is damaged or not a SavedModel", (version_dir / "saved_model.pb").string());
  std::ranges::for_each(*model.mutable_meta_graphs(), [](auto& graph) { TakeAssetsOfCollection(&graph); });
  return model;
}

Result<tensorflow::MetaGraphDef> ReadMetaGraph(const Path& version_dir, const std::vector<std::string>& tags) {
  ASSIGN_OR_RETURN(tensorflow::SavedModel model, ReadSavedModel(version_dir));
  const std::string file = (version_dir / "saved_model.pb").string();
  const std::set<std::string> wanted(tags.begin(), tags.end());
  std::vector<std::string> found;
  for (auto& graph : *model.mutable_meta_graphs()) {
    const auto& has = graph.meta_info_def().tags();
    const std::set<std::string> tag_set(has.begin(), has.end());
    if (tag_set == wanted) return std::move(graph);
    found.push_back(TagsText(tag_set));
  }
  if (found.empty()) return DataLoss("{} has no graph", file);
  return NotFound("{} has no graph with the tags {}; it has {}", file, TagsText(wanted), fmt::join(found, " and "));
}

Path VariablesPrefix(const Path& version_dir) { return version_dir / "variables" / "variables"; }

Result<Path> AssetPath(const Path& version_dir, const tensorflow::AssetFileDef& asset) {
  const Path name = Path(asset.filename()).lexically_normal();
  if (name.empty() || name.is_absolute() || *name.begin() == "..") {
    return DataLoss("the asset \"{}\" is not below {}", asset.filename(), (version_dir / "assets").string());
  }
  return version_dir / "assets" / name;
}

}  // namespace longshore::saved_model
