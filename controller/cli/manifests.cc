#include "controller/cli/manifests.h"

#include <iostream>
#include <map>

#include "controller/cli/input/files.h"

namespace longshore::cli {

Result<std::vector<api::ParsedObject>> ReadManifests(const Options& options, api::Home home) {
  const auto folders = options.recursive ? input::Folders::kWithSubfolders : input::Folders::kFilesOnly;
  ASSIGN_OR_RETURN(const std::vector<input::File> files, input::ReadFiles(options.files, folders, std::cin));
  std::vector<api::ParsedObject> objects;
  std::map<api::Key, std::string> places;
  std::string mistakes;
  for (const input::File& file : files) {
    auto parsed = api::ParseManifests(file.name, file.text, home, options.namespace_);
    if (!parsed) {
      mistakes += (mistakes.empty() ? "" : "\n") + parsed.error().message;
      continue;
    }
    for (api::ParsedObject& object : *parsed) {
      const auto [first, is_new] = places.emplace(api::KeyOf(object), file.name);
      if (!is_new)
        return InvalidArgument("{}:{}: {} is in {} too", file.name, object.line, api::ToString(first->first),
                               first->second);
      objects.push_back(std::move(object));
    }
  }
  if (!mistakes.empty()) return InvalidArgument("{}", mistakes);
  if (!objects.empty()) return objects;
  const std::string where = files.size() == 1 ? files[0].name + " contains none" : "the files contain none";
  return InvalidArgument("no objects passed: {}", where);
}

}  // namespace longshore::cli
