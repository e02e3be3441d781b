#include "controller/cli/import_files.h"

#include <ostream>

#include "controller/cli/import/kserve.h"
#include "controller/cli/import/tfserving.h"
#include "controller/cli/input.h"

namespace longshore::cli {
namespace {

Result<ImportFile> Read(const std::string& file) {
  ASSIGN_OR_RETURN(std::string text, ReadInput(file));
  return ImportFile{.name = file == "-" ? "standard input" : file, .text = std::move(text)};
}

Result<std::optional<ImportFile>> ReadIfNamed(const std::string& file) {
  if (file.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(ImportFile read, Read(file));
  return read;
}

Result<Imported> Convert(const Options& options) {
  const ImportTarget target{.fleet = options.fleet, .namespace_ = options.namespace_};
  TfServingFiles files;
  for (const std::string& file : options.files) {
    ASSIGN_OR_RETURN(files.models.emplace_back(), Read(file));
  }
  if (options.verb == Verb::kImportKserve) return ImportKserve(files.models, target);
  ASSIGN_OR_RETURN(files.batching, ReadIfNamed(options.batching_file));
  ASSIGN_OR_RETURN(files.monitoring, ReadIfNamed(options.monitoring_file));
  return ImportTfServing(files, target);
}

}  // namespace

Status Import(const Options& options, std::ostream& out, std::ostream& notes) {
  ASSIGN_OR_RETURN(const Imported imported, Convert(options));
  out << ManifestText(imported);
  notes << NotesText(imported);
  return {};
}

}  // namespace longshore::cli
