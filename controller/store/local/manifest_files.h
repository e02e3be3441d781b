// The current manifest files of a directory, together with what a controller has applied from them. For the command
// line: only reads files, and works without a running controller.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/process/descriptors.h"
#include "controller/store/local/manifest_index.h"
#include "controller/store/store.h"

namespace longshore::store::local {

struct ManifestFile {
  std::string name;              // "digits.yaml".
  std::string text;              // "" if the file cannot be read.
  bool is_taken = false;         // Whether a controller has read this text.
  std::string mistake;           // Why a controller cannot apply this text, with file and line; "": it can.
  std::set<api::Key> objects;    // The objects that were applied from the text that a controller read last.
  std::set<api::Key> refused;    // The objects of this text that a controller could not apply.
  std::set<api::Key> not_taken;  // The objects of this text, if no controller has read it yet.
};

// Returns the files ordered by name. Does not parse a text that a controller has read already.
std::vector<ManifestFile> ReadManifestFiles(const Path& dir);

// Returns the objects that the file defines, or InvalidArgument with the message in ManifestFile::mistake.
Result<std::vector<Object>> ObjectsOf(const ManifestFile& file);

// A command holds this lock while it changes a file and the file's object: two commands at once would leave the file of
// one beside the object of the other. Blocks. The descriptor's end releases the lock.
Result<process::Descriptor> LockForEdit(const Path& dir);

// Replaces the text of the file by one that a command wrote. If a controller has read the old text, it takes the new
// text as read and applies nothing from it: the caller changes the objects itself. So differences between the file and
// its objects stay as they are.
Status ReplaceText(const Path& dir, const ManifestFile& file, const std::string& text);

}  // namespace longshore::store::local
