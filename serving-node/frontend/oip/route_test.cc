#include "serving-node/frontend/oip/route.h"

#include <gmock/gmock.h>

namespace longshore::frontend::oip {
namespace {

using Kind = Route::Kind;

Kind KindOf(std::string_view method, std::string_view target) { return ParseOipRoute(method, target).kind; }

TEST(OipRoute, OwnsWhatIsBelowItsRoot) {
  for (const char* target : {"/v2", "/v2/", "/v2/models/a", "/v2?a=b"}) EXPECT_TRUE(IsOipTarget(target)) << target;
  for (const char* target : {"/v1/models/a", "/v22", "/", "", "/V2"}) EXPECT_FALSE(IsOipTarget(target)) << target;
}

TEST(OipRoute, FindsModelsAndVersions) {
  const Route route = ParseOipRoute("POST", "/v2/models/a%2Fb/versions/7/infer?x=y");
  EXPECT_EQ(route.kind, Kind::kInfer);
  EXPECT_EQ(route.model, "a/b");
  EXPECT_EQ(route.version, "7");
  EXPECT_EQ(KindOf("GET", "/v2/models/a"), Kind::kModelMetadata);
  EXPECT_EQ(KindOf("GET", "/v2/models/versions/versions/1"), Kind::kModelMetadata);
  EXPECT_EQ(ParseOipRoute("GET", "/v2/models/stats").model, "");
  EXPECT_EQ(ParseOipRoute("GET", "/v2/models/a/stats").model, "a");
}

TEST(OipRoute, FindsRepositories) {
  EXPECT_EQ(KindOf("POST", "/v2/repository/index"), Kind::kRepositoryIndex);
  const Route route = ParseOipRoute("POST", "/v2/repository/r/models/m/load");
  EXPECT_EQ(route.kind, Kind::kLoad);
  EXPECT_EQ(route.repository, "r");
  EXPECT_EQ(route.model, "m");
  EXPECT_EQ(KindOf("POST", "/v2/repository/models/m/unload"), Kind::kUnload);
}

TEST(OipRoute, TellsAWrongMethodFromAnUnknownPath) {
  EXPECT_EQ(KindOf("GET", "/v2/models/a/infer"), Kind::kWrongMethod);
  EXPECT_EQ(KindOf("POST", "/v2/logging"), Kind::kUpdateLogSettings);
  EXPECT_EQ(KindOf("PUT", "/v2/logging"), Kind::kWrongMethod);
  for (const char* target : {"/v2/", "/v2/models", "/v2/models/", "/v2/models/a/", "/v2/models/a/infer/b", "/v2//"}) {
    EXPECT_EQ(KindOf("GET", target), Kind::kUnknown) << target;
  }
}

}  // namespace
}  // namespace longshore::frontend::oip
