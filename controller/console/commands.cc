#include "controller/console/commands.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/json/path.h"
#include "common/os/log.h"
#include "controller/cli/command/send_command.h"
#include "controller/console/requests.h"

namespace longshore::console {
namespace {

using cli::command::CommandRequest;

constexpr std::chrono::seconds kPatience{5};
constexpr size_t kVerbBytesMax = 32;
constexpr size_t kNameBytesMax = 512;  // As in crds/models.yaml.

// Returns 0 if the number is missing.
template <typename Number>
Result<Number> NumberAt(const Json& json, const char* field) {
  const Json& value = At(json, {field});
  if (value.is_null()) return 0;
  const bool fits = value.is_number_integer() && value >= 0 && value <= std::numeric_limits<Number>::max();
  if (!fits) return InvalidArgument("\"{}\" must be a number from 0 to {}.", field, std::numeric_limits<Number>::max());
  return value.get<Number>();
}

}  // namespace

Result<CommandRequest> ParseCommand(std::string_view body) {
  ASSIGN_OR_RETURN(const Json json, ParseJson(body));
  CommandRequest request{.verb = TextAt(json, {"verb"})};
  const bool is_word = std::ranges::all_of(request.verb, [](char c) { return c >= 'a' && c <= 'z'; });
  if (request.verb.empty() || request.verb.size() > kVerbBytesMax || !is_word)
    return InvalidArgument("\"verb\" must be the name of a command.");
  const Json& seen = At(json, {"seen"});
  if (!seen.is_object()) return InvalidArgument("\"seen\" must be the state that the command is for.");
  cli::command::SeenRollout& rollout = request.seen.emplace();
  ASSIGN_OR_RETURN(rollout.generation, NumberAt<int64_t>(seen, "generation"));
  ASSIGN_OR_RETURN(rollout.attempt, NumberAt<int>(seen, "attempt"));
  ASSIGN_OR_RETURN(rollout.step, NumberAt<int>(seen, "step"));
  ASSIGN_OR_RETURN(rollout.from, NumberAt<int64_t>(seen, "from"));
  ASSIGN_OR_RETURN(request.to, NumberAt<int64_t>(json, "to"));
  return request;
}

void Commands::Give(const Person& person, const api::Key& model, const std::string& body,
                    const http::Responder& respond) {
  auto request = ParseCommand(body);
  if (!request) return respond(ErrorAnswer(400, request.error().message));
  request->by = person.name.substr(0, kNameBytesMax);
  const bool is_posted = worker_.Post([this, model, respond, request = *request] {
    if (!stopping_) respond(Execute(model, request));
  });
  if (!is_posted) respond(ErrorAnswer(503, "Too many commands wait for the controller. Try it again."));
}

http::Response Commands::Execute(const api::Key& model, const CommandRequest& request) {
  const auto answer = cli::command::SendCommand(store_, model, request, clock_, kPatience);
  const std::string text = answer ? ToString(*answer) : request.verb + ": " + answer.error().message;
  spdlog::info("{} gave a command to {} in the web console: {}", request.by, api::ToString(model), text);
  if (!answer) return ErrorAnswer(answer.error());
  if (answer->result != api::CommandResult::kDone) return ErrorAnswer(409, text);
  return JsonAnswer({}, {{"answer", text}});
}

}  // namespace longshore::console
