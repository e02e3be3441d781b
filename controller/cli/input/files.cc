#include "controller/cli/input/files.h"

#include <algorithm>
#include <array>
#include <istream>
#include <iterator>

#include "common/base/path.h"
#include "common/os/file.h"

namespace longshore::cli::input {
namespace {

constexpr std::array<std::string_view, 3> kEndings = {".yaml", ".yml", ".json"};

bool IsHidden(const Path& path) { return path.filename().string().starts_with('.'); }

bool IsManifest(const std::filesystem::directory_entry& entry) {
  std::error_code error;
  return entry.is_regular_file(error) && std::ranges::find(kEndings, entry.path().extension()) != kEndings.end();
}

// Returns the paths of the folder's manifests, ordered.
Result<std::vector<Path>> ManifestsIn(const Path& folder, Folders folders) {
  std::vector<Path> paths;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code is_gone;
    if (folders == Folders::kFilesOnly || IsHidden(at->path())) at.disable_recursion_pending();
    if (!IsHidden(at->path()) && IsManifest(*at)) paths.push_back(at->path());
    if (paths.size() > kFilesMax)
      return ResourceExhausted("{} has more than {} manifest files", folder.string(), kFilesMax);
  }
  if (error) return FailedPrecondition("cannot read folder {}: {}", folder.string(), error.message());
  std::ranges::sort(paths);
  return paths;
}

Result<std::vector<Path>> FilesOf(const std::string& name, Folders folders) {
  std::error_code error;
  if (!std::filesystem::is_directory(name, error)) return std::vector<Path>{name};
  ASSIGN_OR_RETURN(std::vector<Path> paths, ManifestsIn(name, folders));
  if (paths.empty())
    return InvalidArgument("folder {} has no file that ends with .yaml, .yml or .json{}", name,
                           folders == Folders::kFilesOnly ? "; -R reads its subfolders too" : "");
  return paths;
}

}  // namespace

Result<File> ReadInput(const std::string& name, std::istream& standard_input) {
  File file{.name = name, .text = {}};
  if (name != kStandardInput) {
    ASSIGN_OR_RETURN(file.text, ReadFileOrPipe(name, kInputBytesMax));
    return file;
  }
  file.name = "standard input";
  file.text.assign(std::istreambuf_iterator<char>(standard_input), {});
  return file;
}

Result<std::vector<File>> ReadFiles(const std::vector<std::string>& names, Folders folders,
                                    std::istream& standard_input) {
  if (std::ranges::count(names, kStandardInput) > 1) return InvalidArgument("- (standard input) can be read only once");
  std::vector<File> files;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const std::vector<Path> paths, FilesOf(name, folders));
    for (const Path& path : paths) {
      ASSIGN_OR_RETURN(files.emplace_back(), ReadInput(path.string(), standard_input));
    }
  }
  return files;
}

}  // namespace longshore::cli::input
