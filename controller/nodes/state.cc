#include "controller/nodes/state.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>

#include "common/sha256.h"

namespace longshore::nodes {
namespace {

void ApplyChange(const control::ModelChange& change, control::DesiredState& state) {
  auto& models = *state.mutable_models();
  const auto at =
      std::lower_bound(models.begin(), models.end(), change.served_name(),
                       [](const auto& model, const std::string& name) { return model.served_name() < name; });
  const bool found = at != models.end() && at->served_name() == change.served_name();
  if (!change.has_model()) {
    if (found) models.erase(at);
    return;
  }
  if (found) {
    *at = change.model();
    return;
  }
  const int place = static_cast<int>(at - models.begin());
  *models.Add() = change.model();
  for (int i = models.size() - 1; i > place; --i) models.SwapElements(i, i - 1);
}

}  // namespace

void ApplyMessage(const control::FromController& message, control::DesiredState& state) {
  switch (message.message_case()) {
    case control::FromController::kSnapshot: state = message.snapshot().state(); break;
    case control::FromController::kChange: ApplyChange(message.change(), state); break;
    case control::FromController::kFleet: *state.mutable_fleet() = message.fleet(); break;
    case control::FromController::kDrain:
    case control::FromController::kHeartbeat:
    case control::FromController::kCertificate:
    case control::FromController::MESSAGE_NOT_SET: return;
  }
  state.set_epoch(message.epoch());
  state.set_revision(message.revision());
}

std::string Digest(const control::DesiredState& state) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    CHECK(state.SerializeToCodedStream(&coded));
  }
  return ToHex(Sha256(bytes));
}

const control::ModelState* FindModel(const control::DesiredState& state, const std::string& served_name) {
  const auto& models = state.models();
  const auto at =
      std::find_if(models.begin(), models.end(), [&](const auto& model) { return model.served_name() == served_name; });
  return at == models.end() ? nullptr : &*at;
}

}  // namespace longshore::nodes
