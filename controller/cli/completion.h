// Completion of command lines in a shell.
//
// The script for a shell calls `longshore __complete WORD... LAST`, where LAST may be empty or the beginning of a word.
// The protocol is that of the Go library cobra, so kubectl can call it too: a line for each candidate, optionally with
// a tab and a description, and a last line ":4", or ":0" if the shell should offer files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "controller/cli/options.h"
#include "controller/cli/place.h"

namespace longshore::cli {

inline constexpr const char* kCompleteCommand = "__complete";

// Opens the place of the objects, to complete their names. OpenPlace in the program.
using PlaceOpener = std::function<Result<Place>(const Options&)>;

// Returns the answer for the words after `__complete`. Names are those of the live objects in the namespace that the
// words name; there are none if the place cannot be opened.
std::string Complete(const std::vector<std::string>& words, const PlaceOpener& open);

// Returns the script for "bash", "zsh" or "fish".
std::string CompletionScript(const std::string& shell);

}  // namespace longshore::cli
