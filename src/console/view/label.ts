/** What the console calls what code and commands call by another word. */
const words: Readonly<Record<string, string>> = {
  install: 'Customer',
  group: 'Project',
  name: 'Trainer',
  title: 'Contract',
  displayName: 'Name',
  q: 'Trainer, project or work email',
  suspects: 'Only unlisted ones',
  leaving: 'Only those about to leave',
};

/** The title of a column or a field, as people read it. */
export function labelOf(title: string): string {
  return words[title] ?? `${title.charAt(0).toUpperCase()}${title.slice(1)}`;
}
