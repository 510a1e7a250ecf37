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

/** The title of a column or a field, or the name of one in an answer, as people read it. */
export function labelOf(title: string): string {
  const text = title.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words[title] ?? `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
