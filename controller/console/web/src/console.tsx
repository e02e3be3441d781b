// Shows the page of the URL.
import { render } from "preact";
import { AccessOfPage, useAccessReading } from "./access";
import { FleetPage } from "./fleet";
import { ModelPage } from "./model";
import { OverviewPage } from "./overview";
import { applyTheme } from "./parts";

function PageOfUrl() {
  const [kind, namespace = "", name = ""] = location.pathname.split("/").slice(1);
  if (kind === "models") return <ModelPage namespace={namespace} name={name} />;
  if (kind === "fleets") return <FleetPage namespace={namespace} name={name} />;
  return <OverviewPage />;
}

function Page() {
  return (
    <AccessOfPage.Provider value={useAccessReading()}>
      <PageOfUrl />
    </AccessOfPage.Provider>
  );
}

applyTheme();
const root = document.getElementById("console");
if (root) {
  root.replaceChildren();
  render(<Page />, root);
}
