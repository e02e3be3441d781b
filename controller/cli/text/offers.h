// The commands that the controller would execute now, also as lines that a user can copy.
//
// Pure, like text.h.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::cli::text {

struct Offer {
  std::string verb;
  std::string effect;     // What the command would do: "give version 2 all requests now".
  std::string warning{};  // What a person may not expect of it, without a full stop; "": nothing.
  std::string flag{};     // " --to 2"; "": none.
};

// Returns the commands in status.accepted_commands; none if the manifest has changed since the last decision.
std::vector<Offer> OffersOf(const api::Model& model, TimePoint now);

// Returns OffersOf as one line for each command, and `undo --to` if it would go forward to the version that an undo
// left. `place`: the arguments by which `longshore` finds the objects, for example " --manifests /m", or "".
std::string OffersText(const api::Model& model, const std::string& place, TimePoint now);

// What a person may not expect of undo: that it leaves a good version, because a newer one has been rolled back
// already. "" if this is not so.
std::string UndoWarning(const api::Model& model);

// A complete command line: "longshore retry digits -n vision".
std::string CommandLine(const std::string& verb, const api::Metadata& metadata, const std::string& place);

// Whether the controller would execute the command now. False if the manifest has changed since its last decision.
bool IsAccepted(const api::Model& model, const std::string& verb);

}  // namespace longshore::cli::text
