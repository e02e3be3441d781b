#include "serving-node/control/peer_state.h"

#include <glob.h>

#include <algorithm>
#include <future>
#include <tuple>

#include "common/binary_proto/binary_proto.h"
#include "longshore/peer.pb.h"

namespace longshore::control {
namespace {

constexpr const char* kMethod = "/longshore.peer.Peer/GetState";
constexpr auto kAnswerMax = std::chrono::seconds(2);
constexpr std::string_view kUnix = "unix:";

std::vector<std::string> Expand(const std::vector<std::string>& targets) {
  std::vector<std::string> all;
  for (const std::string& target : targets) {
    glob_t found{};
    const bool pattern = target.starts_with(kUnix) && target.find('*') != std::string::npos;
    if (!pattern) {
      all.push_back(target);
    } else if (glob(target.c_str() + kUnix.size(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) all.push_back(std::string(kUnix) + found.gl_pathv[i]);
    }
    if (pattern) globfree(&found);
  }
  all.resize(std::min(all.size(), kPeersAskedMax));
  return all;
}

std::future<Result<Pieces>> Ask(const std::string& target, const std::string& fleet, routing::Forwarder& forwarder) {
  peer::StateRequest request;
  request.set_fleet(fleet);
  routing::ForwardCall call;
  call.target = target;
  call.method = kMethod;
  call.serialized = Pieces(request.SerializeAsString());
  call.deadline = std::chrono::steady_clock::now() + kAnswerMax;
  const auto promise = std::make_shared<std::promise<Result<Pieces>>>();
  forwarder.Forward(std::move(call), [promise](Result<Pieces> reply) { promise->set_value(std::move(reply)); });
  return promise->get_future();
}

bool IsNewer(const DesiredState& a, const DesiredState& b) {
  return std::tuple(a.epoch(), a.revision()) > std::tuple(b.epoch(), b.revision());
}

}  // namespace

std::optional<DesiredState> AskPeersForState(const std::vector<std::string>& targets, const std::string& fleet,
                                             routing::Forwarder& forwarder) {
  std::vector<std::future<Result<Pieces>>> asked;
  for (const std::string& target : Expand(targets)) asked.push_back(Ask(target, fleet, forwarder));
  std::optional<DesiredState> newest;
  for (auto& answer : asked) {
    const auto bytes = answer.get();
    peer::StateReply reply;
    if (!bytes || !ParseBinaryProto(*bytes, &reply) || !reply.has_state()) continue;
    if (!newest || IsNewer(reply.state(), *newest)) newest = std::move(*reply.mutable_state());
  }
  return newest;
}

}  // namespace longshore::control
