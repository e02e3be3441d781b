#include "controller/cli/host/definitions.h"

#include <algorithm>
#include <filesystem>

namespace longshore::cli::host {
namespace {

bool Defines(const store::local::ManifestFile& file, const api::Key& key) {
  const bool is_known = file.is_taken || !file.mistake.empty();
  return is_known ? file.objects.contains(key) : file.not_taken.contains(key);
}

// Whether the path is one of the manifest files of the folder.
bool IsOneOf(const std::vector<store::local::ManifestFile>& files, const Path& folder, const Path& file) {
  const Path parent = file.parent_path();
  std::error_code error;
  return std::filesystem::equivalent(parent.empty() ? Path(".") : parent, folder, error) &&
         std::ranges::find(files, file.filename().string(), &store::local::ManifestFile::name) != files.end();
}

}  // namespace

const store::local::ManifestFile* OtherDefinition(const api::Key& key, const std::string& file,
                                                  const std::vector<store::local::ManifestFile>& files) {
  const auto other = std::ranges::find_if(
      files, [&](const store::local::ManifestFile& one) { return one.name != file && Defines(one, key); });
  return other == files.end() ? nullptr : &*other;
}

std::string AlreadyDefined(const api::Key& key, const store::local::ManifestFile& other) {
  return fmt::format("{} is already defined in {}", api::ToString(key), other.name);
}

Status CheckDefinedOnce(const std::vector<api::ParsedObject>& objects, const Path& manifests) {
  if (manifests.empty()) return {};
  const std::vector<store::local::ManifestFile> files = store::local::ReadManifestFiles(manifests);
  for (const api::ParsedObject& object : objects) {
    const Path file = object.file;
    if (!IsOneOf(files, manifests, file)) continue;
    const auto* other = OtherDefinition(api::KeyOf(object), file.filename().string(), files);
    if (other == nullptr) continue;
    return InvalidArgument("{}:{}: {}: {}", object.file, object.line, AlreadyDefined(api::KeyOf(object), *other),
                           kDefinedTwiceRemedy);
  }
  return {};
}

}  // namespace longshore::cli::host
