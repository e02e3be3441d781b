#include "serving-node/inspect/version.h"

#include "common/version_files/folder.h"

namespace longshore::inspect {
namespace {

bool IsVersion(const Path& dir) {
  std::error_code error;
  return std::filesystem::exists(dir / "saved_model.pb", error) ||
         std::filesystem::exists(dir / "saved_model.pbtxt", error);
}

}  // namespace

Result<Path> FindVersion(const Path& dir) {
  if (IsVersion(dir)) return dir;
  std::error_code error;
  if (!std::filesystem::is_directory(dir, error)) return NotFound("directory {} does not exist", dir.string());
  ASSIGN_OR_RETURN(const auto versions, version_files::ListVersions(dir));
  if (versions.empty())
    return NotFound("{} is not a SavedModel: it has neither saved_model.pb nor a folder named by a number",
                    dir.string());
  // A version's folder may have leading zeros.
  for (const auto& child : std::filesystem::directory_iterator(dir, error)) {
    const std::string name = child.path().filename().string();
    const size_t zeros = std::min(name.find_first_not_of('0'), name.size() - 1);
    if (name.substr(zeros) == std::to_string(versions.back())) return child.path();
  }
  return NotFound("version {} in {} was removed during the lookup", versions.back(), dir.string());
}

}  // namespace longshore::inspect
