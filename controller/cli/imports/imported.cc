#include "controller/cli/imports/imported.h"

#include <algorithm>

#include "controller/api/format.h"
#include "controller/api/parse.h"

namespace longshore::cli::imports {
namespace {

// A note may contain any name from the input, but must stay on one line of the manifest's comment.
std::string OneLine(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

ImportedDocument NewDocument(const std::string& kind, const std::string& name, const std::string& namespace_,
                             Json spec) {
  Json metadata = {{"name", name}};
  if (!namespace_.empty()) metadata["namespace"] = namespace_;
  return {{{"apiVersion", api::kApiVersion}, {"kind", kind}, {"metadata", metadata}, {"spec", std::move(spec)}}, {}};
}

Status CheckImported(const ImportedDocument& document) {
  const auto parsed = api::ParseManifests("the manifest", api::ToYaml(document.json), api::Home::kAny);
  if (!parsed) return tl::make_unexpected(parsed.error());
  return {};
}

std::string ManifestText(const Imported& imported) {
  std::string text;
  for (const ImportedDocument& document : imported) {
    if (!text.empty()) text += "---\n";
    for (const std::string& note : document.notes) text += "# " + OneLine(note) + "\n";
    text += api::ToYaml(document.json);
  }
  return text;
}

std::string NotesText(const Imported& imported) {
  std::string text;
  for (const ImportedDocument& document : imported) {
    for (const std::string& note : document.notes) text += OneLine(note) + "\n";
  }
  return text;
}

std::string ObjectName(const std::string& text, size_t size_max) {
  std::string name;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '-';
  }
  name = name.substr(0, size_max);
  const size_t begin = name.find_first_not_of('-');
  if (begin == std::string::npos) return "model";
  return name.substr(begin, name.find_last_not_of('-') - begin + 1);
}

std::string FolderFor(const std::string& name) { return "file:///models/" + name; }

std::string CopyNote(const std::string& uri, const std::string& name) {
  return fmt::format(
      "nodes cannot read {}: copy its version folders to a volume of the fleet (spec.modelVolumes, mounted at "
      "/models), "
      "as /models/{}/VERSION/saved_model.pb",
      uri, name);
}

}  // namespace longshore::cli::imports
