// The commands that write to the store. Every call may be repeated; none overwrites a concurrent change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "controller/api/parse.h"
#include "controller/cli/place.h"
#include "controller/cli/text/diff.h"
#include "controller/store/store.h"

namespace longshore::cli {

enum class ApplyMode { kWrite, kDryRun };

struct Applied {
  std::optional<store::Object> before;
  store::Object after;
  Json wanted_spec{};  // What the manifest asks for, with defaults.
};

// Applies the objects in their order. A dry run returns the same result or error, and writes nothing.
Result<std::vector<Applied>> ApplyObjects(store::Store& store, const std::vector<api::ParsedObject>& objects,
                                          ApplyMode mode);

// The differences between the object before and after, in labels, annotations and spec. Not a difference: another form
// of the same value, or a field whose default is written out.
std::vector<text::Difference> DifferencesOf(const Applied& applied);
// Returns "created", "changed" or "unchanged".
std::string OutcomeOf(const Applied& applied);

// Names the fields of the spec that the file leaves out and that the object keeps, because other field managers own
// them, with these managers; "" if there are none. Server-side apply removes only fields that its own manager set.
// Labels and annotations of other managers are usual, and are not named.
std::string KeptText(const Place& place, const Applied& applied);

// Deletes the object, but not one that was created with the same name meanwhile. Returns NotFound, which lists the
// existing names, if the object does not exist.
Status DeleteObject(store::Store& store, const api::Key& key);

}  // namespace longshore::cli
