// Which processes listen on a port, for messages about ports in use.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>

namespace longshore::process {

// Returns for each of the TCP ports the processes that listen on it, on any address; 0 if all of them belong to other
// users. Ports without a listener are absent. Searches all processes that this user may examine, which takes some
// milliseconds.
std::map<int, std::set<pid_t>> ListenersOn(const std::set<int>& ports);

struct PortHolder {
  pid_t pid = 0;  // 0: not known, for example because the process belongs to another user.
  // For people: "node default.cpu-0 of fleet default/cpu (process 812)", "nginx (process 81)", "this process", or
  // "another program" if it is not known.
  std::string text = "another program";
};

// As ListenersOn. This process comes first: it may share the socket with the processes that it has started.
PortHolder HolderOf(int port);

}  // namespace longshore::process
