// What /proc says about this host's processes: their arguments, and which of them listen on a port.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/cli/doctor/host.h"

namespace longshore::cli::doctor::observe {

// The flags of a command line, "--name=value" and "--name value", by name without dashes. A flag may be repeated.
using ProgramFlags = std::multimap<std::string, std::string>;
ProgramFlags ParseFlags(const std::vector<std::string>& arguments);

// Returns the flags of a process; empty if it has ended or belongs to another user.
ProgramFlags FlagsOf(int64_t pid);

// Returns the last value of the flag; `otherwise` if it is absent.
std::string FlagOf(const ProgramFlags& flags, const std::string& name, const std::string& otherwise);

// Returns for each of the TCP ports the processes that listen on it, on any address. Ports without a listener are
// absent.
std::map<int, std::set<Holder>> HoldersOf(const std::set<int>& ports);

}  // namespace longshore::cli::doctor::observe
