#include "common/net/auth/tokens.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "common/json/path.h"
#include "common/net/auth/jwt_verifier.h"
#include "common/os/file.h"

namespace longshore::auth {
namespace {

constexpr size_t kFileBytesMax = size_t{4} << 20;
constexpr auto kReadInterval = std::chrono::seconds(1);
constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kScheme = "bearer ";
constexpr std::string_view kPredict = "predict";
constexpr std::string_view kAdmin = "admin";

struct Line {
  std::string_view name;
  std::string_view token;
  std::string_view scopes;
};

// Returns nullopt for empty lines and comments.
std::optional<Line> Split(std::string_view line) {
  const size_t begin = line.find_first_not_of(kBlanks);
  if (begin == line.npos || line[begin] == '#') return std::nullopt;
  line = line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
  const auto take_word = [&line] {
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks, word.size()), line.size()));
    return word;
  };
  const std::string_view name = take_word();
  const std::string_view token = take_word();
  return Line{name, token, line};
}

// Returns nullopt if a scope is unknown. Lines without scopes have all, because files of earlier releases have none.
std::optional<Scope> ParseScopes(std::string_view text) {
  if (text.empty()) return Scope::kAdmin;
  Scope highest = Scope::kPredict;
  while (true) {
    const std::string_view name = text.substr(0, text.find(','));
    if (name == kAdmin) highest = Scope::kAdmin;
    if (name != kAdmin && name != kPredict) return std::nullopt;
    if (name.size() == text.size()) return highest;
    text.remove_prefix(name.size() + 1);
  }
}

Scope ScopeOf(const Json& claims) {
  const std::string names = fmt::format(" {} ", TextAt(claims, {"scope"}));
  return names.find(fmt::format(" {} ", kAdmin)) == names.npos ? Scope::kPredict : Scope::kAdmin;
}

// Calls take(line, number) for each line that is neither empty nor a comment.
template <typename Take>
Status ForEachLine(std::string_view text, Take take) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (const auto line = Split(text.substr(0, end))) {
      RETURN_IF_ERROR(take(*line, number));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

bool IsVisible(char c) { return std::isgraph(static_cast<unsigned char>(c)) != 0; }

Status CheckLine(const Line& line, size_t number) {
  if (line.token.empty()) return InvalidArgument("line {}: expected a name and a token", number);
  if (!std::ranges::all_of(line.token, IsVisible)) {
    return InvalidArgument("line {}: a token must consist of visible ASCII characters", number);
  }
  if (line.token.size() < kTokenBytesMin || line.token.size() > kTokenBytesMax) {
    return InvalidArgument("line {}: a token must have {} to {} characters", number, kTokenBytesMin, kTokenBytesMax);
  }
  if (!ParseScopes(line.scopes)) {
    return InvalidArgument("line {}: only scopes may follow the token: {}, {}, or both with a comma and without blanks",
                           number, kPredict, kAdmin);
  }
  return {};
}

}  // namespace

Status Tokens::Add(const Entry& entry, size_t number) {
  const auto same = [&](const Entry& each) { return each.name == entry.name || each.hash == entry.hash; };
  if (std::ranges::any_of(entries_, same)) {
    return InvalidArgument("line {}: an earlier line has the same name or token", number);
  }
  if (entries_.size() == kTokensMax) return InvalidArgument("the file has more than {} tokens", kTokensMax);
  entries_.push_back(entry);
  return {};
}

Result<Tokens> Tokens::Parse(std::string_view text) {
  Tokens tokens;
  const Status read = ForEachLine(text, [&tokens](const Line& line, size_t number) -> Status {
    RETURN_IF_ERROR(CheckLine(line, number));
    return tokens.Add({std::string(line.name), Sha256(line.token), *ParseScopes(line.scopes)}, number);
  });
  if (!read) return tl::make_unexpected(read.error());
  if (tokens.entries_.empty()) return InvalidArgument("the file has no token");
  return tokens;
}

std::optional<Caller> Tokens::ClientOf(std::string_view token) const {
  const Sha256Bytes hash = Sha256(token);
  size_t found = entries_.size();
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (CRYPTO_memcmp(entries_[i].hash.data(), hash.data(), hash.size()) == 0) found = i;
  }
  if (found == entries_.size()) return std::nullopt;
  return Caller{entries_[found].name, nullptr, entries_[found].scope};
}

Result<std::shared_ptr<const Reloaded<Tokens>>> OpenTokens(const std::string& flag, const Path& file) {
  const auto read = [flag, file]() -> Result<Tokens> {
    const auto text = ReadFile(file, kFileBytesMax);
    if (!text) return Prefixed(text.error(), flag);
    auto tokens = Tokens::Parse(*text);
    if (!tokens) return Prefixed(tokens.error(), fmt::format("{}: {}", flag, file.string()));
    return tokens;
  };
  return Reloaded<Tokens>::Start(flag, read, kReadInterval);
}

Status Gate::Admit(std::string_view authorization, Scope needed) const {
  const auto caller = CallerOf(authorization);
  if (!caller) return tl::make_unexpected(caller.error());
  if (!tokens_ || caller->scope >= needed) return {};
  return PermissionDenied("this call needs a token with the scope {}, but the token of the request has the scope {}",
                          kAdmin, kPredict);
}

Result<Caller> Gate::CallerOf(std::string_view authorization) const {
  const auto lower = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  const bool bearer = std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, lower);
  const std::string_view token = bearer ? authorization.substr(kScheme.size()) : std::string_view();
  if (tokens_ && !token.empty() && token.size() <= kTokenBytesMax) {
    if (auto client = tokens_->current()->ClientOf(token)) return std::move(*client);
  }
  if (jwts_ && LooksLikeJwt(token)) {
    ASSIGN_OR_RETURN(auto claims, jwts_->Verify(token));
    const Scope scope = ScopeOf(*claims);
    return Caller{"", std::move(claims), scope};
  }
  if (tokens_) return Fail(Code::kUnauthenticated, "the request has no valid bearer token");
  return Caller();
}

Result<std::string> ReadToken(const Path& file) {
  ASSIGN_OR_RETURN(std::string token, ReadFile(file, kFileBytesMax));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.empty()) return InvalidArgument("{} is empty", file.string());
  return token;
}

Result<std::shared_ptr<Authorization>> OpenAuthorization(const std::string& flag, const Path& file) {
  const auto read = [flag, file]() -> Result<std::string> {
    const auto text = ReadFile(file, kFileBytesMax);
    if (!text) return Prefixed(text.error(), flag);
    if (const auto tokens = Tokens::Parse(*text); !tokens) return Prefixed(tokens.error(), flag);
    std::string first;
    const auto keep_first = [&first](const Line& line, size_t) -> Status {
      if (first.empty()) first = fmt::format("Bearer {}", line.token);
      return {};
    };
    RETURN_IF_ERROR(ForEachLine(*text, keep_first));
    return first;
  };
  return Authorization::Start(flag, read, kReadInterval);
}

}  // namespace longshore::auth
