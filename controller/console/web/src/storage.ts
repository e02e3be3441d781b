// Choices that this browser keeps for the next page. A browser may forbid to store them, for example in a private window:
// then they last as long as the page.
const unstored = new Map<string, string>();

export function storedChoice(name: string): string {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return unstored.get(name) ?? "";
  }
}

export function storeChoice(name: string, value: string) {
  try {
    localStorage.setItem(name, value);
  } catch {
    unstored.set(name, value);
  }
}
