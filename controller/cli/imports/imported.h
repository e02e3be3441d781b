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

// One object of the result and the notes about it. Each note names file, line and setting.
struct ImportedDocument {
  Json json;
  std::vector<std::string> notes;
};
using Imported = std::vector<ImportedDocument>;

// Returns a document {apiVersion, kind, metadata, spec} without notes.
ImportedDocument NewDocument(const std::string& kind, const std::string& name, const std::string& namespace_,
                             Json spec);

// Returns InvalidArgument if the parser of manifests rejects the document both for a host and for a cluster.
Status CheckImported(const ImportedDocument& document);

// Returns the manifests as YAML, with the notes of each object as comments before it.
std::string ManifestText(const Imported& imported);
// Returns one line per note.
std::string NotesText(const Imported& imported);

// Returns the most similar valid object name of at most `size_max` characters: "My_Model" -> "my-model".
std::string ObjectName(const std::string& text, size_t size_max);

// Returns the URI of the folder to which the user must copy the model `name` from an object store, so that a fleet can
// read it.
std::string FolderFor(const std::string& name);
// Returns the note that asks the user to copy the model from `uri` to that folder.
std::string CopyNote(const std::string& uri, const std::string& name);

inline constexpr size_t kModelNameMax = 63;
inline constexpr size_t kFleetNameMax = 44;  // Leaves room for the suffixes of the fleet's Services.

}  // namespace longshore::cli::imports
