// Shows the page of the URL.
import { render } from "preact";
import { FleetPage } from "./fleet";
import { ModelPage } from "./model";
import { OverviewPage } from "./overview";
import { applyTheme } from "./parts";

function Page() {
  const [kind, namespace = "", name = ""] = location.pathname.split("/").slice(1);
  if (kind === "models") return <ModelPage namespace={namespace} name={name} />;
  if (kind === "fleets") return <FleetPage namespace={namespace} name={name} />;
  return <OverviewPage />;
}

applyTheme();
const root = document.getElementById("console");
if (root) {
  root.replaceChildren();
  render(<Page />, root);
}
