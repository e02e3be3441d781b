// Formats of texts in a spec. The CRDs have the same patterns and lengths (crd_test.cc compares them).
#pragma once

#include <cstddef>
#include <string>

namespace longshore::api {

struct TextFormat {
  const char* what;  // For messages: "is not WHAT".
  size_t size_max;
  const char* pattern;  // nullptr: any text.
};

inline constexpr TextFormat kServedName = {"a name of letters, digits, _ - .", 253, "^[A-Za-z0-9_.-]+$"};
inline constexpr TextFormat kFleetName = {"NAME or NAMESPACE/NAME, each up to 63 characters of a-z 0-9 -", 127,
                                          "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"};
inline constexpr TextFormat kSourceUri = {"file:///FOLDER or https://HOST/ARCHIVE", 1024,
                                          "^(file:///.*|https://[^/?#\\s]+/[^\\s]*)$"};
inline constexpr TextFormat kSha256 = {"64 characters of 0-9 a-f", 64, "^[0-9a-f]{64}$"};
inline constexpr TextFormat kSourcePath = {"a path of at most 512 characters", 512, nullptr};
inline constexpr TextFormat kHeaderName = {"a header's or cookie's name", 256, "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"};
inline constexpr TextFormat kOutputName = {"an output's name of at most 256 characters", 256, nullptr};
inline constexpr TextFormat kRouteName = {"a name: up to 63 characters of a-z 0-9 -, beginning and ending with a-z 0-9",
                                          63, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"};
inline constexpr TextFormat kMatchValue = {"a text of 1 to 256 characters", 256, "^[\\s\\S]+$"};
inline constexpr TextFormat kHttpUrl = {"http://HOST or https://HOST, optionally with a path, and without a query",
                                        1024, "^https?://[^/?#\\s]+[^?#\\s]*$"};
inline constexpr TextFormat kNamespace = {"a name: up to 63 characters of a-z 0-9 -, beginning and ending with a-z 0-9",
                                          63, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"};
inline constexpr TextFormat kVolumeName = {
    "a name: up to 50 characters of a-z 0-9 -, beginning and ending with a-z 0-9", 50, kNamespace.pattern};
inline constexpr TextFormat kObjectName = {
    "a name: up to 253 characters of a-z 0-9 - ., beginning and ending with a-z 0-9", 253,
    "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"};
inline constexpr TextFormat kImage = {"an image, as in registry/name:tag", 512, "^[A-Za-z0-9][A-Za-z0-9._:/@-]*$"};
inline constexpr TextFormat kLabelName = {
    "a label's name, as in topology.kubernetes.io/zone", 317,
    "^([a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"};
inline constexpr TextFormat kLabelValue = {"a label's value: up to 63 characters: letters, digits, _ - .", 63,
                                           "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"};
inline constexpr TextFormat kAnnotationValue = {"a text of at most 2048 characters", 2048, nullptr};
inline constexpr TextFormat kQuantity = {"an amount, as in 2, 500m or 20Gi", 24,
                                         "^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"};
inline constexpr TextFormat kMemory = {"an amount of memory above 0, as in 512Mi or 2Gi", 24,
                                       "^[1-9][0-9]*(\\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$"};
inline constexpr TextFormat kMountPath = {"an absolute path, as in /models", 512, "^(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$"};
inline constexpr TextFormat kCidr = {"a range of addresses, as in 10.0.0.0/8", 49,
                                     "^([0-9]{1,3}(\\.[0-9]{1,3}){3}/([12]?[0-9]|3[0-2])|[0-9a-fA-F:]*:[0-9a-fA-F:.]*/"
                                     "([0-9]{1,2}|1[01][0-9]|12[0-8]))$"};
inline constexpr TextFormat kDuration = {"a duration: write one number with us, ms, s, m or h, as in \"30s\"", 24,
                                         "^[0-9]+(\\.[0-9]+)?(us|ms|s|m|h)$"};
inline constexpr TextFormat kShare = {"a share: write \"0.1%\" or 0.001, between 0% and 100%", 24,
                                      "^((100(\\.0+)?|[0-9]{1,2}(\\.[0-9]+)?)%|0(\\.[0-9]+)?|1(\\.0+)?)$"};
// At most 50 %, because at least half of the nodes must have a version that is promoted.
inline constexpr TextFormat kPercentOfNodes = {
    "a number of nodes, as in 1, or a whole percentage from \"0%\" to \"50%\"", 3, "^([0-9]|[1-4][0-9]|50)%$"};

// The format of Command::id in a status.
inline constexpr TextFormat kCommandId = {"an id of at most 64 letters, digits, . _ -", 64, "^[A-Za-z0-9._-]+$"};

// Whether the text has the format. "" matches only if the pattern allows it.
bool Matches(const std::string& text, const TextFormat& format);

}  // namespace longshore::api
