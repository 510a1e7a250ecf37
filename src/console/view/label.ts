/** What the console calls what code and commands call by a shorter word. */
const words: Readonly<Record<string, string>> = {
  install: 'Customer',
  group: 'Project',
};

/** The title of a column or a field, as people read it. */
export function labelOf(title: string): string {
  return words[title] ?? `${title.charAt(0).toUpperCase()}${title.slice(1)}`;
}
