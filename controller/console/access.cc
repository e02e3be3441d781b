#include "controller/console/access.h"

#include <optional>
#include <utility>

#include "common/base/lower_case.h"
#include "common/json/path.h"

namespace longshore::console {
namespace {

// When wrong tokens were sent. Thread-safe.
class WrongTokens {
 public:
  explicit WrongTokens(const MonotonicClock& clock) : clock_(clock) {}

  bool AreTooMany() {
    const std::lock_guard lock(mutex_);
    const MonotonicPoint now = clock_.Now();
    while (!sent_.empty() && now - sent_.front() >= kWrongTokensPer) sent_.pop_front();
    return sent_.size() >= kWrongTokensMax;
  }
  void Add() {
    const std::lock_guard lock(mutex_);
    sent_.push_back(clock_.Now());
    if (sent_.size() > kWrongTokensMax) sent_.pop_front();
  }

 private:
  const MonotonicClock& clock_;
  std::mutex mutex_;
  std::deque<MonotonicPoint> sent_;  // Guarded by the mutex.
};

}  // namespace

Result<Person> Admit(const http::Request& head, const Access& access, Right needed, bool reading_needs_token) {
  const std::string_view authorization = head.Header("authorization");
  if (authorization.empty() || !access.identify) {
    if (needed == Right::kRead && !reading_needs_token) return Person{};
    return Fail(Code::kUnauthenticated, "{} needs a token. {}",
                needed == Right::kRead ? "Reading this console" : "A command", access.how_to_sign_in);
  }
  ASSIGN_OR_RETURN(Person person, access.identify(authorization));
  if (person.right >= needed) return person;
  return PermissionDenied("{} may only read this console: a command needs the scope admin", person.name);
}

Status CheckOrigin(const http::Request& head) {
  const std::string type = LowerCase(head.Header("content-type"));
  if (type.substr(0, type.find(';')) != "application/json") {
    return InvalidArgument("The header Content-Type of a command must be application/json.");
  }
  const std::string origin = LowerCase(head.Header("origin"));
  const std::string host = LowerCase(head.Header("host"));
  if (origin.empty() || origin == "http://" + host || origin == "https://" + host) return {};
  return PermissionDenied("A page of another site sent this command.");
}

Identify ByTokens(std::shared_ptr<const Reloaded<auth::Tokens>> tokens, const MonotonicClock& clock) {
  const auto gate = std::make_shared<const auth::Gate>(std::move(tokens));
  const auto wrong = std::make_shared<WrongTokens>(clock);
  return [gate, wrong](std::string_view authorization) -> Result<Person> {
    // Checked first: otherwise an attacker would still see which token is right.
    if (wrong->AreTooMany())
      return ResourceExhausted("There were too many wrong tokens. Wait a minute, and try it again.");
    const auto caller = gate->CallerOf(authorization);
    if (!caller) {
      wrong->Add();
      return Fail(Code::kUnauthenticated, "This token is not valid.");
    }
    return Person{caller->client, caller->scope == auth::Scope::kAdmin ? Right::kCommand : Right::kRead};
  };
}

Result<Person> PersonOf(const Json& claims, const Subjects& subjects) {
  const std::string subject = TextAt(claims, {"sub"});
  if (subject.empty()) return Fail(Code::kUnauthenticated, "The token names no subject.");
  const auto found = subjects.find(subject);
  if (found != subjects.end()) return Person{subject, found->second};
  return PermissionDenied("{} may not use this console.", subject);
}

}  // namespace longshore::console
