/** A rule for a text in a configuration and on the command line. Commands check it without loading a schema. */
export interface TextRule {
  pattern: RegExp;
  /** What to write instead. */
  says: string;
}

export const nameRule: TextRule = {
  pattern: /^[a-z0-9][a-z0-9_-]{0,62}$/,
  says: 'a name is 1 to 63 of a-z, 0-9, "-" and "_", and starts with a letter or a digit',
};

export const jobRule: TextRule = {
  pattern: /^[^\s=*\p{Cc}]{1,200}=[^*\p{Cc}]{1,200}$/u,
  says: 'write the id of a job and the project its people work in ("job_1=street-signs")',
};

export const projectRule: TextRule = {
  pattern: /^(?=.)[^*\p{Cc}]*\*?$/u,
  says: 'write a project id, or a prefix followed by one "*" ("team-*", or "*" for all)',
};
