// Applies the manifests of a directory to a store. Each object is applied when its meaning in the file changes; an edit
// of a comment, of white space or of another object of the file does not apply it again.
//
// The index (manifest_index.h) records what was taken from each file, so that neither a restart nor such an edit
// overrides a later change by a command, or recreates an object that a command deleted.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/path.h"
#include "controller/api/parse.h"
#include "controller/store/local/manifest_index.h"
#include "controller/store/local/manifest_problem.h"
#include "controller/store/store.h"

namespace longshore::store::local {

// Used by one thread at a time.
class Manifests {
 public:
  // Calls `on_write` with the result of each write in the folder of the index.
  Manifests(Path dir, Path index, std::function<void(const Status&)> on_write)
      : dir_(std::move(dir)), index_(std::move(index)), on_write_(std::move(on_write)) {}

  // Applies every object whose meaning changed since it was last applied from its file. An object that cannot be
  // applied becomes a problem of its manifest and does not block the other objects.
  Status Read(Store& store);

  std::optional<ManifestProblem> ProblemOf(const api::Key& key) const;
  std::vector<ManifestProblem> Problems() const;

 private:
  struct Taken : TakenManifest {
    bool saved = false;      // Whether the index has this state.
    bool refreshed = false;  // Whether this release computed the meanings.
  };

  Status LoadIndex();
  Status LoadTaken(const std::string& file);
  void Save(const std::string& file);
  void TakeFromCommand(const std::string& file, const std::string& digest);
  void ReadOne(const std::string& file, Store& store);
  void TakeNewText(const std::string& file, const std::string& digest, const std::vector<api::ParsedObject>& objects);
  void Refresh(const std::string& file, const std::vector<api::ParsedObject>& objects);
  void ApplyRefused(const std::string& file, const std::vector<api::ParsedObject>& objects, Store& store);
  std::optional<std::string> OwnerOf(const api::Key& key, const std::string& except) const;
  void Report(const std::string& file, const std::string& reason, const std::string& message,
              const std::set<api::Key>& objects);
  void ReportVanished(Store& store);
  std::set<api::Key> ObjectsEverIn(const std::string& file) const;

  Path dir_;
  Path index_;
  std::function<void(const Status&)> on_write_;
  bool index_loaded_ = false;
  std::set<std::string> unread_;                            // Manifest files whose index file could not be read.
  std::map<std::string, Taken> taken_;                      // Key: file name.
  std::set<std::string> present_;                           // File names in the directory now.
  std::map<std::string, ManifestProblem> problems_;         // Key: file name and message.
  std::map<std::string, ManifestProblem> problems_before_;  // Problems of the previous Read, which were logged.
  std::map<api::Key, ManifestProblem> problems_of_objects_;
};

}  // namespace longshore::store::local
