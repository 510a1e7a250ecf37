import { type Severity, severities, type TroubleKind, troubleRules } from './trouble-rules.ts';

/** Something that needs an operator. */
export interface Trouble {
  kind: TroubleKind;
  severity: Severity;
  install: string | null;
  tool: string | null;
  since: string | null;
  /** Of what the sentence counts. */
  count: number | null;
  /** One sentence. */
  says: string;
  /** What lies behind it: the error of another system, or numbers. */
  detail: string | null;
  /** What to do, with the command where there is one. */
  action: string;
  /** The page of the console where it is done. */
  page: string | null;
  /** Where else it is done: http or https. */
  url: string | null;
}

/** What is found about one trouble. */
export interface TroubleFacts
  extends Partial<Pick<Trouble, 'install' | 'tool' | 'since' | 'count' | 'detail' | 'url'>> {
  kind: TroubleKind;
  /** What to do in this case, if that is known better than for the kind. */
  action?: string;
  /** What else its texts name. */
  names?: Readonly<Record<string, string>>;
}

export const troubleKinds = Object.keys(troubleRules) as readonly TroubleKind[];

export function isTroubleKind(kind: string): kind is TroubleKind {
  return Object.hasOwn(troubleRules, kind);
}

/** What to do about troubles of a kind, without the marks of commands. */
export function adviceOfTrouble(kind: TroubleKind): string {
  return troubleRules[kind].action.replaceAll('`', '');
}

/** Pure. */
export function toTrouble({ kind, action, names = {}, ...facts }: TroubleFacts): Trouble {
  const { severity, says, page } = troubleRules[kind];
  const { install = null, tool = null, since = null, count = null, detail = null, url = null } = facts;
  const known = new Map(Object.entries({ ...names, install, tool, count }));
  const fill = (text: string, encode: (value: string) => string = String) =>
    text.replaceAll(/<(\w+)>/g, (placeholder, name: string) => encode(String(known.get(name) ?? placeholder)));
  const numbered = says.replaceAll(/\(([^|()]*)\|([^|()]*)\)/g, (_, one: string, several: string) =>
    (count ?? 1) === 1 ? one : several,
  );
  return {
    ...{ kind, severity, install, tool, since, count },
    says: fill(numbered),
    detail,
    action: action ?? fill(adviceOfTrouble(kind)),
    page: page === undefined ? null : fill(page, encodeURIComponent),
    url,
  };
}

export function sayInFull({ says, detail }: Trouble): string {
  return detail === null ? says : `${says} ${detail}`;
}

/** The worst first, and of one severity the oldest; what began at an unknown time comes last. Pure. */
export function byUrgency(one: Trouble, other: Trouble): number {
  const key = ({ severity, since }: Trouble) => `${severities.indexOf(severity)} ${since ?? '~'}`;
  return Number(key(one) > key(other)) - Number(key(one) < key(other));
}
