// Which process listens on a port, for messages about a port that is in use.
#pragma once

#include <sys/types.h>

#include <string>

namespace longshore::process {

struct PortHolder {
  pid_t pid = 0;  // 0: not known, for example because the process belongs to another user.
  // For people: "node default.cpu-0 of fleet default/cpu (process 812)", "nginx (process 81)", "this process", or
  // "another program" if it is not known.
  std::string text = "another program";
};

// Searches all processes that this user may examine, which takes some milliseconds.
PortHolder HolderOf(int port);

}  // namespace longshore::process
