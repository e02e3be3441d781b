#include "controller/cli/import_files.h"

#include <iostream>

#include "controller/cli/imports/kserve.h"
#include "controller/cli/imports/tfserving.h"
#include "controller/cli/input/files.h"

namespace longshore::cli {
namespace {

Result<imports::ImportFile> Read(const std::string& file) {
  ASSIGN_OR_RETURN(input::File read, input::ReadInput(file, std::cin));
  return imports::ImportFile{.name = std::move(read.name), .text = std::move(read.text)};
}

Result<std::optional<imports::ImportFile>> ReadIfNamed(const std::string& file) {
  if (file.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(imports::ImportFile read, Read(file));
  return read;
}

Result<imports::Imported> Convert(const Options& options) {
  const imports::ImportTarget target{.fleet = options.fleet, .namespace_ = options.namespace_};
  imports::TfServingFiles files;
  for (const std::string& file : options.files) {
    ASSIGN_OR_RETURN(files.models.emplace_back(), Read(file));
  }
  if (options.verb == Verb::kImportKserve) return imports::ImportKserve(files.models, target);
  ASSIGN_OR_RETURN(files.batching, ReadIfNamed(options.batching_file));
  ASSIGN_OR_RETURN(files.monitoring, ReadIfNamed(options.monitoring_file));
  return imports::ImportTfServing(files, target);
}

}  // namespace

Status Import(const Options& options, std::ostream& out, std::ostream& notes) {
  ASSIGN_OR_RETURN(const imports::Imported imported, Convert(options));
  out << imports::ManifestText(imported);
  notes << imports::NotesText(imported);
  return {};
}

}  // namespace longshore::cli
