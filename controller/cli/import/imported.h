// What comes out of another system's configuration: manifests of ours, and a note for every setting that they do not
// say.
//
// Pure: text in, text out.
#pragma once

#include <string>
#include <vector>

#include "common/error.h"
#include "common/json/json.h"

namespace longshore::cli {

struct ImportFile {
  std::string name;  // For messages.
  std::string text;
};

struct ImportTarget {
  std::string fleet;       // "": see each import.
  std::string namespace_;  // Of what names none; "": it is left open, and whoever applies it says so.
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

// InvalidArgument unless the parser of manifests, for a host or a cluster, takes the document.
Status CheckImported(const ImportedDocument& document);

// YAML, with the notes of each object as comments before it.
std::string ManifestText(const Imported& imported);
// A line for each note.
std::string NotesText(const Imported& imported);

// The nearest name that an object can have: "My_Model" becomes "my-model". At most `size_max` characters.
std::string ObjectName(const std::string& text, size_t size_max);

// Where a fleet can read what lies in an object store, once somebody has copied it there.
std::string FolderFor(const std::string& name);
// The note that says so.
std::string CopyNote(const std::string& uri, const std::string& name);

inline constexpr size_t kModelNameMax = 63;
inline constexpr size_t kFleetNameMax = 44;  // Its Services are named after it.

}  // namespace longshore::cli
