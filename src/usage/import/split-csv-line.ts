const fieldPattern = {
  ',': /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y,
  ';': /(?:"((?:[^"]|"")*)"|([^";]*))(;|$)/y,
};

export type Delimiter = keyof typeof fieldPattern;

/**
 * The fields of one line of CSV (RFC 4180), or null where its quotes are wrong. No field of an
 * import may hold a line break, so each line is read by itself: a quote that is not closed then
 * spoils its own line, where a parser of whole files would lose all that follow.
 */
export function splitCsvLine(text: string, delimiter: Delimiter): string[] | null {
  if (!text.includes('"')) return text.split(delimiter);
  const pattern = fieldPattern[delimiter];
  pattern.lastIndex = 0;
  const fields: string[] = [];
  for (;;) {
    const match = pattern.exec(text);
    if (match === null) return null;
    const [, quoted, plain = '', end] = match;
    fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === '') return fields;
  }
}
