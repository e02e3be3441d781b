#include "controller/api/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "common/base/nearest_word.h"
#include "common/base/text.h"

namespace longshore::api {
namespace {

constexpr std::string_view kBetween = "; ";

std::string Ending(size_t count, const std::string& noun) {
  return fmt::format("{}and {} more {}{}", kBetween, count, noun, count == 1 ? "" : "s");
}

// Returns the indices of the sentences in the order in which they are kept: those that repeat an earlier text come
// last.
std::vector<size_t> MostInformativeFirst(const std::vector<Sentence>& sentences) {
  std::vector<size_t> order;
  std::vector<size_t> repeats;
  std::set<std::string_view> seen;
  for (size_t i = 0; i < sentences.size(); ++i) {
    (seen.insert(sentences[i].text).second ? order : repeats).push_back(i);
  }
  order.insert(order.end(), repeats.begin(), repeats.end());
  return order;
}

std::string Join(const std::vector<std::string>& shown, const std::vector<bool>& chosen) {
  std::string joined;
  for (size_t i = 0; i < shown.size(); ++i) {
    if (chosen[i]) joined += (joined.empty() ? "" : std::string(kBetween)) + shown[i];
  }
  return joined;
}

}  // namespace

std::string JoinSentences(const std::vector<Sentence>& sentences, const SentenceLimits& limits) {
  std::vector<std::string> shown;
  size_t bytes = 0;
  for (const Sentence& sentence : sentences) {
    shown.push_back(CutText(sentence.name + sentence.text, limits.sentence_bytes_max));
    bytes += shown.back().size() + (shown.size() == 1 ? 0 : kBetween.size());
  }
  if (bytes <= limits.bytes_max && shown.size() <= limits.count_max) {
    return Join(shown, std::vector<bool>(shown.size(), true));
  }
  std::vector<bool> chosen(shown.size(), false);
  size_t count = 0;
  bytes = Ending(shown.size(), limits.noun).size();
  for (const size_t i : MostInformativeFirst(sentences)) {
    const size_t with_it = bytes + shown[i].size() + (count == 0 ? 0 : kBetween.size());
    if (count == limits.count_max || with_it > limits.bytes_max) continue;
    chosen[i] = true;
    bytes = with_it;
    ++count;
  }
  return Join(shown, chosen) + Ending(shown.size() - count, limits.noun);
}

std::string NoFleetSentence(const Key& fleet, const std::vector<Key>& known) {
  // The caller's knowledge is older than `known`.
  if (std::ranges::find(known, fleet) != known.end())
    return fmt::format("{} exists, but the controller has not processed it yet", ToString(fleet));
  std::vector<std::string> names;
  for (const Key& key : known) {
    if (key.namespace_ == fleet.namespace_) names.push_back(key.name);
  }
  const auto nearest = NearestWord(fleet.name, names);
  return fmt::format("{} does not exist{}", ToString(fleet), nearest ? "; did you mean " + *nearest + "?" : "");
}

bool IsByAPerson(const std::string& reason) { return reason == "Aborted" || reason == "Undone"; }

std::string ChangesToTryAgain(const FailedVersion& failed) {
  return IsByAPerson(failed.reason) ? "the manifest changes" : "the manifest or, on one host, its files change";
}

}  // namespace longshore::api
