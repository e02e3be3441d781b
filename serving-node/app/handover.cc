#include "serving-node/app/handover.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "common/os/log.h"
#include "common/os/process/accepting.h"

namespace longshore::app {

Result<std::unique_ptr<Handover>> Handover::Start(const Path& path, const std::vector<int>& sockets) {
  std::unique_ptr<Handover> handover(new Handover);
  for (const int socket : sockets) {
    handover->sockets_.emplace_back(fcntl(socket, F_DUPFD_CLOEXEC, 0));
    if (!handover->sockets_.back().valid()) return Internal("cannot copy descriptor {}: {}", socket, strerror(errno));
  }
  ASSIGN_OR_RETURN(const int listener, process::ListenUnix(path));
  handover->listener_.Reset(listener);
  handover->wake_.Reset(eventfd(0, EFD_CLOEXEC));
  handover->thread_ = std::thread([raw = handover.get()] { raw->Serve(); });
  return handover;
}

Handover::~Handover() {
  if (!thread_.joinable()) return;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Handover::Serve() {
  std::vector<int> copies;
  for (const auto& socket : sockets_) copies.push_back(socket.get());
  process::Accepting accepting("a connection that requests the listening sockets");
  while (true) {
    pollfd waits[] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    poll(waits, 2, -1);
    if (waits[1].revents != 0) return;
    const process::Descriptor peer = accepting.Accept(listener_.get()).fd;
    if (accepting.is_out()) poll(&waits[1], 1, static_cast<int>(process::Accepting::kPause.count()));
    if (!peer.valid()) continue;
    const Status sent = process::SendDescriptors(peer.get(), copies);
    if (!sent) spdlog::warn("cannot send the listening sockets: {}", sent.error().message);
  }
}

}  // namespace longshore::app
