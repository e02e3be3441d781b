// The result of importing another system's configuration: Longshore manifests, and a note for every setting that they
// cannot express.
//
// Pure: text in, text out.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"

namespace longshore::cli::imports {

struct ImportFile {
  std::string name;  // For messages.
  std::string text;
};

struct ImportTarget {
  std::string fleet;       // Name of the fleet; "": the default of each import.
  std::string namespace_;  // Namespace of objects that name none; "": it is chosen when the manifest is applied.
};

// One object. The notes name file, line and setting.
struct ImportedDocument {
  Json json;
  std::vector<std::string> notes;
};
using Imported = std::vector<ImportedDocument>;

// {apiVersion, kind, metadata, spec}.
ImportedDocument NewDocument(const std::string& kind, const std::string& name, const std::string& namespace_,
                             Json spec);

// InvalidArgument if the parser of manifests rejects the document both for a host and for a cluster.
Status CheckImported(const ImportedDocument& document);

// YAML, with the notes of each object as comments before it.
std::string ManifestText(const Imported& imported);
// One line per note.
std::string NotesText(const Imported& imported);

// Returns the most similar valid object name of at most `size_max` characters: "My_Model" -> "my-model".
std::string ObjectName(const std::string& text, size_t size_max);

// The URI of the folder to which the user must copy a model from an object store, so that a fleet can read it.
std::string FolderFor(const std::string& name);
// The note that asks the user to copy it.
std::string CopyNote(const std::string& uri, const std::string& name);

inline constexpr size_t kModelNameMax = 63;
inline constexpr size_t kFleetNameMax = 44;  // Leaves room for the suffixes of its Services.

}  // namespace longshore::cli::imports
